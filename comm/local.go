package comm

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// Local runs f as size ranks, each a goroutine of this process. A rank that returns an
// error, panics, or returns while others wait for it ends them all: the calls of the
// others fail, and Local returns that one failure. A call that is another one than that
// of the other ranks, or of another length, fails on all.
func Local(size int, f func(c Comm) error) error {
	if size < 1 {
		return fmt.Errorf("%d ranks, want 1 or more", size)
	}
	g := &group{calls: make([]call, size), gone: make([]bool, size)}
	g.turn.L = &g.mu
	var all sync.WaitGroup
	for rank := range size {
		all.Go(func() { g.leave(rank, g.run(rank, f)) })
	}
	all.Wait()
	return g.err
}

// PanicError is a panic of a rank of Local.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// group is what the ranks of Local share.
type group struct {
	mu      sync.Mutex
	turn    sync.Cond
	calls   []call // of the present round, by rank
	arrived int
	round   int
	gone    []bool // ranks that have returned
	err     error  // once set, for good
}

// call is a collective call of one rank.
type call struct {
	what string // the call and, where they must agree, its arguments
	x    any
}

// run is f of one rank; a panic is an error.
func (g *group) run(rank int, f func(Comm) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f(&local{g, rank})
}

// leave notes that a rank has returned.
func (g *group) leave(rank int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone[rank] = true
	if err != nil {
		g.abort(failure(rank, err))
	} else if g.arrived > 0 {
		g.abort(failure(rank, errors.New(g.left())))
	}
}

// left describes that a rank left which others wait for.
func (g *group) left() string {
	for rank, c := range g.calls {
		if c.what != "" {
			return fmt.Sprintf("it left while rank %d waits in %s", rank, c.what)
		}
	}
	return "it left"
}

// abort makes the present and all later calls fail. The first failure stays.
func (g *group) abort(err error) {
	if g.err == nil {
		g.err = err
	}
	g.turn.Broadcast()
}

// meet waits for all ranks to call the same. The last one lets f do the work for all,
// while all others wait.
func (g *group) meet(rank int, c call, f func(all []call) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return g.err
	}
	for other, gone := range g.gone {
		if gone {
			g.abort(failure(other, fmt.Errorf("it left before rank %d came to %s", rank, c.what)))
			return g.err
		}
	}
	round := g.round
	g.calls[rank] = c
	g.arrived++
	if g.arrived < len(g.calls) {
		for g.round == round && g.err == nil {
			g.turn.Wait()
		}
		if g.round != round { // whatever has happened since
			return nil
		}
		return g.err
	}
	if err := g.work(f); err != nil {
		g.abort(err)
		return g.err
	}
	clear(g.calls)
	g.arrived, g.round = 0, round+1
	g.turn.Broadcast()
	return nil
}

// work does what all ranks have called.
func (g *group) work(f func([]call) error) error {
	for rank, c := range g.calls {
		if first := g.calls[0].what; c.what != first {
			return failure(rank, fmt.Errorf("it is at %s, rank 0 is at %s", c.what, first))
		}
	}
	return f(g.calls)
}

// local is a rank of a group.
type local struct {
	g    *group
	rank int
}

func (l *local) Rank() int    { return l.rank }
func (l *local) Size() int    { return len(l.g.calls) }
func (l *local) Name() string { return fmt.Sprintf("%d goroutines", l.Size()) }

// slicesOf are what all ranks gave to a call. They wait: what they gave may be written.
func slicesOf[T any](all []call) [][]T {
	list := make([][]T, len(all))
	for rank, c := range all {
		list[rank] = c.x.([]T)
	}
	return list
}

func (l *local) Sum(x []float32) error {
	return l.g.meet(l.rank, call{fmt.Sprintf("a sum of %d numbers", len(x)), x}, func(all []call) error {
		parts := slicesOf[float32](all)
		Tree(parts)
		for _, p := range parts[1:] {
			copy(p, parts[0])
		}
		return nil
	})
}

// gathering is what a rank gives to Gather, and where it gets the result.
type gathering struct {
	x   []byte
	all *[][]byte
}

func (l *local) Gather(x []byte) (list [][]byte, err error) {
	err = l.g.meet(l.rank, call{"a gathering of bytes", gathering{x, &list}}, func(all []call) error {
		for _, to := range all {
			for _, from := range all { // copies, since each rank keeps its own
				*to.x.(gathering).all = append(*to.x.(gathering).all, append([]byte{}, from.x.(gathering).x...))
			}
		}
		return nil
	})
	return list, err
}

// rows is what a rank gives to GatherRows.
type rows struct{ dst, x []float32 }

func (l *local) GatherRows(dst, x []float32) error {
	return l.g.meet(l.rank, call{fmt.Sprintf("a gathering of %d numbers in all", len(dst)), rows{dst, x}}, func(all []call) error {
		total := 0
		for _, c := range all {
			total += len(c.x.(rows).x)
		}
		if total != len(dst) {
			return wrongTotal(len(dst), total)
		}
		joined := make([]float32, 0, total) // x may lie in dst
		for _, c := range all {
			joined = append(joined, c.x.(rows).x...)
		}
		for _, c := range all {
			copy(c.x.(rows).dst, joined)
		}
		return nil
	})
}

func (l *local) Broadcast(x []byte, root int) error {
	return l.g.meet(l.rank, call{fmt.Sprintf("a broadcast of %d bytes from rank %d", len(x), root), x}, func(all []call) error {
		if err := checkRoot(root, len(all)); err != nil {
			return err
		}
		list := slicesOf[byte](all)
		for _, y := range list {
			copy(y, list[root])
		}
		return nil
	})
}

func (l *local) Barrier() error {
	return l.g.meet(l.rank, call{"a barrier", nil}, func([]call) error { return nil })
}

func (l *local) Abort(err error) {
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	l.g.abort(failure(l.rank, err))
}

func (l *local) Close() error { return l.Barrier() }
