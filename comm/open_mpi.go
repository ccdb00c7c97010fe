//go:build linux && cgo && (mpi || gpu)

package comm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/vernier-ml/vernier/comm/internal/mpi"
)

// Open joins the processes that a launcher, such as mpirun or srun, has started this one
// with, over MPI. A process that runs alone is Single.
func Open(o Options) (Comm, error) {
	name := launched(os.Getenv)
	if name == "" {
		return Single{}, nil
	}
	lib, err := mpi.Open(libraries(os.Getenv))
	if err != nil {
		return nil, fmt.Errorf("a launcher started this as one of several processes (%s is set): %w; install MPI (Debian: libopenmpi3 or libmpich12), or name its library in %s", name, err, PathVariable)
	}
	p := &processes{lib: lib, name: lib.Name(), timeout: o.Timeout, largest: math.MaxInt32}
	if err := checkSize(os.Getenv, lib.Size, p.name); err != nil {
		return nil, err
	}
	hosts, err := p.Gather([]byte(host()))
	for _, h := range hosts {
		p.hosts = append(p.hosts, string(h))
	}
	return p, err
}

// Built says whether the program can join processes over MPI.
const Built = true

// Found lists the libraries of MPI that can be loaded, with their files: of the launcher's
// family, or without one of all.
func Found() []string { return mpi.Found(libraries(os.Getenv)) }

// processes are ranks that MPI connects.
type processes struct {
	lib     *mpi.Library
	name    string
	timeout time.Duration
	hosts   []string // of all ranks
	largest int      // bytes of one gathering
	mu      sync.Mutex
	room    []float32 // for numbers of another rank
	once    sync.Once // for Abort
}

func (p *processes) Rank() int    { return p.lib.Rank }
func (p *processes) Size() int    { return p.lib.Size }
func (p *processes) Name() string { return fmt.Sprintf("%d processes (%s)", p.Size(), p.name) }

// call makes a collective call. MPI reports neither a rank that hangs, nor one that has
// left, nor one that calls something else: ranks come together first (see meet), and one
// that then waits too long ends all.
func (p *processes) call(what string, f func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.meet(what); err != nil {
		return err
	}
	if p.timeout > 0 {
		watch := time.AfterFunc(p.timeout+blamed, func() {
			p.Abort(fmt.Errorf("it has waited %v in %s: another rank hangs, or has ended", p.timeout+blamed, what))
		})
		defer watch.Stop()
	}
	if err := f(); err != nil {
		return failure(p.Rank(), fmt.Errorf("%s: %w", what, err))
	}
	return nil
}

// noteLength is the size of a note in bytes.
const noteLength = 64

// meet lets every rank tell the next one what it is about to call, and waits for the note of
// the one before, so that there is a rank which knows who hangs, has left or does something
// else. While it waits it leaves the processor to others.
func (p *processes) meet(what string) error {
	size := p.Size()
	if size == 1 {
		return nil
	}
	before := (p.Rank() + size - 1) % size
	own, theirs := make([]byte, noteLength), make([]byte, noteLength)
	copy(own, what)
	if err := p.lib.Note(own, (p.Rank()+1)%size); err != nil {
		return failure(p.Rank(), err)
	}
	if err := p.awaitNote(before, what); err != nil {
		return err
	}
	if err := p.lib.TakeNote(theirs, before); err != nil {
		return failure(p.Rank(), err)
	}
	if bytes.Equal(own, theirs) {
		return nil
	}
	err := p.failureOf(before, fmt.Errorf("it is at %s, rank %d is at %s", bytes.TrimRight(theirs, "\x00"), p.Rank(), what))
	if p.Rank() == 0 {
		p.end(err) // the others' lines would tell the same
	}
	return err
}

// awaitNote waits for a note of a rank. If it takes too long it ends all.
func (p *processes) awaitNote(from int, what string) error {
	start, pause := time.Now(), time.Duration(0)
	for {
		if there, err := p.lib.Noted(from); err != nil {
			return failure(p.Rank(), err)
		} else if there {
			return nil
		}
		waited := time.Since(start)
		if p.timeout > 0 && waited > p.timeout {
			p.end(p.failureOf(from, fmt.Errorf("rank %d has waited %v for it in %s: it hangs, or has ended", p.Rank(), p.timeout, what)))
		}
		if waited > spinning {
			pause = min(pause+time.Microsecond, longestPause)
			time.Sleep(pause)
		}
	}
}

// spinning is the time in which a rank looks for a note without a pause, and longestPause
// the longest between two looks after that.
const (
	spinning     = 50 * time.Microsecond
	longestPause = 50 * time.Microsecond
)

// failureOf is an error of another rank.
func (p *processes) failureOf(rank int, err error) *RankError {
	name := "unknown host"
	if rank < len(p.hosts) {
		name = p.hosts[rank]
	}
	return &RankError{rank, name, err}
}

// piece is the number of elements of one message. Larger ones make some libraries allocate
// anew each time, which is slower by far.
const piece = 1 << 20

func (p *processes) Sum(x []float32) error {
	return p.call(fmt.Sprintf("a sum of %d numbers", len(x)), func() error {
		if p.room == nil {
			p.room = make([]float32, piece)
		}
		for len(x) > 0 {
			n := min(len(x), piece)
			sum := p.halves
			if p.Size()&(p.Size()-1) != 0 {
				sum = p.tree
			}
			if err := sum(x[:n]); err != nil {
				return err
			}
			x = x[n:]
		}
		return nil
	})
}

// halves adds in the order of Tree for a power of two of ranks: each pair halves what it
// adds, and then the halves are joined. + is commutative, NaN's payload aside.
func (p *processes) halves(x []float32) error {
	type span struct{ from, to int }
	rank, own := p.Rank(), span{0, len(x)}
	var stack []span
	for bit := 1; bit < p.Size(); bit *= 2 {
		stack = append(stack, own)
		mid := (own.from + own.to) / 2
		keep, give := span{own.from, mid}, span{mid, own.to}
		if rank&bit != 0 {
			keep, give = give, keep
		}
		theirs := p.room[:keep.to-keep.from]
		if err := p.lib.Exchange(x[give.from:give.to], theirs, rank^bit); err != nil {
			return err
		}
		add(x[keep.from:keep.to], theirs)
		own = keep
	}
	for bit := p.Size() / 2; bit > 0; bit /= 2 {
		whole := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		other := span{whole.from, own.from}
		if own.from == whole.from {
			other = span{own.to, whole.to}
		}
		if err := p.lib.Exchange(x[own.from:own.to], x[other.from:other.to], rank^bit); err != nil {
			return err
		}
		own = whole
	}
	return nil
}

// tree adds in the order of Tree for any number of ranks, at rank 0, which sends the sum.
func (p *processes) tree(x []float32) error {
	rank := p.Rank()
	for step := 1; step < p.Size(); step *= 2 {
		if rank%(2*step) == step {
			if err := p.lib.Send(x, rank-step); err != nil {
				return err
			}
			break
		}
		if rank+step < p.Size() {
			if err := p.lib.Receive(p.room[:len(x)], rank+step); err != nil {
				return err
			}
			add(x, p.room[:len(x)])
		}
	}
	return p.lib.Broadcast(bytesOf(x), 0)
}

// bytesOf are the bytes of x, in the same memory.
func bytesOf[T any](x []T) []byte {
	var v T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(v)))
}

// lengths are those of all ranks' parts, in bytes.
func (p *processes) lengths(own int) (list []int, total int, err error) {
	each := make([]int, p.Size())
	for i := range each {
		each[i] = 8
	}
	got := make([]int64, p.Size())
	if err := p.lib.Gather(bytesOf(got), bytesOf([]int64{int64(own)}), each); err != nil {
		return nil, 0, err
	}
	for _, n := range got {
		list = append(list, int(n))
		total += int(n)
	}
	return list, total, nil
}

// gather sets dst to the x of all ranks, of lengths bytes. What MPI cannot count in one
// call, each rank sends in pieces.
func (p *processes) gather(dst, x []byte, lengths []int) error {
	if len(dst) <= p.largest {
		return p.lib.Gather(dst, x, lengths)
	}
	for rank, n := range lengths {
		part := dst[:n]
		if dst = dst[n:]; rank == p.Rank() {
			copy(part, x)
		}
		if err := p.broadcast(part, rank); err != nil {
			return err
		}
	}
	return nil
}

func (p *processes) broadcast(x []byte, root int) error {
	for len(x) > 0 {
		n := min(len(x), 4*piece)
		if err := p.lib.Broadcast(x[:n], root); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

func (p *processes) Gather(x []byte) (list [][]byte, err error) {
	err = p.call("a gathering of bytes", func() error {
		lengths, total, err := p.lengths(len(x))
		if err != nil {
			return err
		}
		all := make([]byte, total)
		if err := p.gather(all, x, lengths); err != nil {
			return err
		}
		for _, n := range lengths {
			list, all = append(list, all[:n:n]), all[n:]
		}
		return nil
	})
	return list, err
}

func (p *processes) GatherRows(dst, x []float32) error {
	return p.call(fmt.Sprintf("a gathering of %d numbers in all", len(dst)), func() error {
		lengths, total, err := p.lengths(4 * len(x))
		if err != nil {
			return err
		}
		if total != 4*len(dst) {
			return wrongTotal(len(dst), total/4)
		}
		own := append([]float32(nil), x...) // x may lie in dst
		return p.gather(bytesOf(dst), bytesOf(own), lengths)
	})
}

func (p *processes) Broadcast(x []byte, root int) error {
	return p.call(fmt.Sprintf("a broadcast of %d bytes from rank %d", len(x), root), func() error {
		if err := checkRoot(root, p.Size()); err != nil {
			return err
		}
		return p.broadcast(x, root)
	})
}

func (p *processes) Barrier() error { return p.call("a barrier", p.lib.Barrier) }

// blamed is the time that a rank which reports the failure of another leaves to that one,
// which knows more.
const blamed = 3 * time.Second

// forwarded is the time that a launcher gets to read the line of a rank that ends all:
// MPICH's at times kills the processes first and loses the line.
const forwarded = 300 * time.Millisecond

// Abort writes one line and ends all processes. It takes no lock: another goroutine may
// wait for a rank that is gone.
func (p *processes) Abort(err error) {
	if e := new(RankError); errors.As(err, &e) && e.Rank != p.Rank() {
		time.Sleep(blamed)
	}
	if err == nil {
		err = errors.New("it ends the run")
	}
	p.end(failure(p.Rank(), err))
}

// end is Abort for what no other rank knows more of.
func (p *processes) end(err *RankError) {
	p.once.Do(func() {
		fmt.Fprintln(os.Stderr, err)
		time.Sleep(forwarded)
		p.lib.Abort(1)
		os.Exit(1)
	})
	select {} // another goroutine is ending the process
}

// Close leaves the group. A rank that is elsewhere hears of it.
func (p *processes) Close() error { return p.call("the end", p.lib.Finalize) }
