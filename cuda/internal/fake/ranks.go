//go:build cgo && linux && (amd64 || arm64)

package fake

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Net joins the devices of ranks that are goroutines. It sums in the order of ranks from
// the last to the first, unlike the host, as a library may.
type Net struct {
	mu      sync.Mutex
	turn    sync.Cond
	size    int
	arrived int
	round   int
	given   [][]float32 // by rank
	sent    [][]float32 // of the round before
	// Lost, unless it is 0, is the round from which on rank 1 does not come.
	Lost    int
	aborted bool
}

// NewNet returns a net for size ranks.
func NewNet(size int) *Net {
	n := &Net{size: size, given: make([][]float32, size)}
	n.turn.L = &n.mu
	return n
}

// meet waits for the numbers of all ranks.
func (n *Net) meet(rank int, x []float32) ([][]float32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	round := n.round
	n.given[rank] = x
	if n.arrived++; n.arrived == n.size {
		n.sent, n.given = n.given, make([][]float32, n.size)
		n.arrived, n.round = 0, round+1
		n.turn.Broadcast()
		return n.sent, nil
	}
	for n.round == round && !n.aborted {
		n.turn.Wait()
	}
	if n.round == round {
		return nil, errors.New("the group was left")
	}
	return n.sent, nil
}

// Joined is a rank's membership in a Net.
type Joined struct {
	Driver     *Driver
	Net        *Net
	Gathered   int // calls of Gather
	Summed     int // calls of Sum
	rank, size int
}

var _ device.Ranks = (*Joined)(nil)

// Place is an address that the test gave.
func (d *Driver) Place() (string, error) { return d.At, d.call("Place") }

// Ranks returns what the test gave.
func (d *Driver) Ranks() (device.Ranks, error) {
	if d.Joins == nil {
		return nil, errors.New("NCCL is missing")
	}
	return d.Joins, d.call("Ranks")
}

// Invitation is 128 bytes.
func (j *Joined) Invitation() ([]byte, error) {
	id := make([]byte, 128)
	for i := range id {
		id[i] = byte(i + 1)
	}
	return id, nil
}

// Join compares the invitation and waits for the others.
func (j *Joined) Join(invitation []byte, rank, size int) error {
	want, _ := j.Invitation()
	if string(invitation) != string(want) || size != j.Net.size || rank < 0 || rank >= size {
		return fmt.Errorf("an invitation of %d bytes for rank %d of %d", len(invitation), rank, size)
	}
	j.rank, j.size = rank, size
	_, err := j.Net.meet(rank, nil)
	return err
}

// floats are numbers in device memory.
func (j *Joined) floats(x device.Span) ([]float32, error) {
	mem, err := j.Driver.memory(x.At, 4*int64(x.Numbers))
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(mem))), x.Numbers), nil
}

// exchange gives the numbers of a span to all.
func (j *Joined) exchange(x device.Span) (own []float32, all [][]float32, err error) {
	if own, err = j.floats(x); err != nil {
		return nil, nil, err
	}
	if j.Net.Lost > 0 && j.rank == 1 && j.Summed+j.Gathered >= j.Net.Lost {
		return own, nil, errLost
	}
	all, err = j.Net.meet(j.rank, append([]float32(nil), own...))
	return own, all, err
}

// errLost ends a command of a rank that does not come.
var errLost = errors.New("this rank is lost")

// Sum adds in the order of ranks, from the last.
func (j *Joined) Sum(list []device.Span, s device.Stream) error {
	j.Summed++
	return j.Driver.do("Sum", s, func() error {
		for _, x := range list {
			own, all, err := j.exchange(x)
			if err != nil {
				return err
			}
			copy(own, all[j.size-1])
			for rank := j.size - 2; rank >= 0; rank-- {
				for i, v := range all[rank] {
					own[i] += v
				}
			}
		}
		return nil
	})
}

// Gather copies from every rank.
func (j *Joined) Gather(dst device.Ptr, x device.Span, s device.Stream) error {
	j.Gathered++
	return j.Driver.do("Gather", s, func() error {
		_, all, err := j.exchange(x)
		if err != nil {
			return err
		}
		to, err := j.floats(device.Span{At: dst, Numbers: j.size * x.Numbers})
		for rank := range all {
			copy(to[rank*x.Numbers:], all[rank])
		}
		return err
	})
}

// Since is nothing.
func (j *Joined) Since() error { return nil }

// Abort wakes who waits.
func (j *Joined) Abort() error {
	j.Net.mu.Lock()
	defer j.Net.mu.Unlock()
	j.Net.aborted = true
	j.Net.turn.Broadcast()
	return nil
}
