package cuda

import (
	"errors"
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// group is what an engine has of the ranks that it has joined.
type group struct {
	device.Ranks
	size     int
	patience time.Duration
	event    device.Event
}

var _ engine.Collective = (*Engine)(nil)

// Place is the address of the GPU on its bus. It is an error where NCCL is missing.
func (e *Engine) Place() (string, error) {
	if _, err := e.driver.Ranks(); err != nil {
		return "", err
	}
	return e.driver.Place()
}

// Invitation makes what other ranks join with.
func (e *Engine) Invitation() ([]byte, error) {
	r, err := e.driver.Ranks()
	if err != nil {
		return nil, err
	}
	return r.Invitation()
}

// Join enters a group of ranks, each with a GPU of its own, by NCCL.
func (e *Engine) Join(invitation []byte, rank, size int, patience time.Duration) error {
	if e.group != nil {
		return errors.New("cuda: the engine has joined a group before")
	}
	r, err := e.driver.Ranks()
	if err != nil {
		return err
	}
	g := &group{Ranks: r, size: size, patience: patience}
	if g.event, err = e.driver.NewEvent(); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	e.group = g
	return g.await("joining", func() error { return r.Join(invitation, rank, size) })
}

// Joined reports whether the engine sums over ranks.
func (e *Engine) Joined() bool { return e.group != nil }

// orderedPiece is the largest number of numbers of each rank that is gathered at a time.
const orderedPiece = 1 << 20

// SumRanks replaces the numbers of every tensor by the sum over ranks, and waits until that is
// done. Of a Deterministic engine sums have the order of comm.Tree, whatever library, network
// and placement there are; otherwise NCCL's.
func (e *Engine) SumRanks(list []engine.Tensor) error {
	a := e.args("sum over ranks")
	a.check(e.group != nil, "the engine has not joined a group")
	if a.err != nil {
		return a.err
	}
	if a.failed(e.attend()); a.err != nil {
		return a.err
	}
	spans := make([]device.Span, len(list))
	for i, t := range list {
		x := a.any(fmt.Sprintf("tensor %d", i), t)
		a.check(a.err != nil || x.typ == device.F32, "%v is stored as %v, want float32", x, x.typ)
		if a.err != nil {
			return a.err
		}
		if x.parts > 1 {
			p := a.in(x, device.F32)
			a.failed(e.driver.Copy(x.ptr, p, 4*int64(x.size), e.compute))
		}
		x.touched()
		spans[i] = device.Span{At: x.ptr, Numbers: x.size}
	}
	if e.opt.Deterministic {
		a.sumInOrder(spans)
	} else if a.err == nil {
		a.failed(e.group.Sum(spans, e.compute))
	}
	if a.failed(e.driver.Record(e.group.event, e.compute)); a.err != nil {
		return a.err
	}
	a.failed(e.group.await("summing gradients", func() error { return e.driver.SynchronizeEvent(e.group.event) }))
	return a.err
}

// sumInOrder gathers the numbers of all ranks and adds them as comm.Tree does.
func (a *args) sumInOrder(spans []device.Span) {
	e, largest := a.eng, 0
	for _, x := range spans {
		largest = max(largest, min(x.Numbers, orderedPiece))
	}
	all := a.floats(e.group.size * largest)
	for _, x := range spans {
		for x.Numbers > 0 && a.err == nil {
			n := min(x.Numbers, largest)
			a.failed(e.group.Gather(all, device.Span{At: x.At, Numbers: n}, e.compute))
			part := func(rank int) device.Ptr { return all + device.Ptr(4*rank*n) }
			for step := 1; step < e.group.size; step *= 2 {
				for i := 0; i+step < e.group.size; i += 2 * step {
					a.launch(kernels.Add(device.F32, int64(n), part(i), part(i), part(i+step)))
				}
			}
			if a.err == nil {
				a.failed(e.driver.Copy(x.At, all, 4*int64(n), e.compute))
			}
			x.At, x.Numbers = x.At+device.Ptr(4*n), x.Numbers-n
		}
	}
}

// looks is the time between two questions whether all is well.
const looks = 50 * time.Millisecond

// await waits for f, for which other ranks have to come: a device waits for them without end,
// and without an error.
func (g *group) await(what string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	look := time.NewTicker(looks)
	defer look.Stop()
	for start := time.Now(); ; {
		select {
		case err := <-done:
			return errors.Join(err, g.Since())
		case <-look.C:
		}
		err := g.Since()
		if err == nil && g.patience > 0 && time.Since(start) > g.patience {
			err = fmt.Errorf("it has waited %v in %s for the GPUs of other ranks: one hangs, or has ended", g.patience, what)
		}
		if err != nil {
			return errors.Join(err, g.Abort())
		}
	}
}
