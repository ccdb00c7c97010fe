package comm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// ends runs f as ranks and fails if that takes long. It returns the error.
func ends(t *testing.T, size int, f func(c Comm) error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- Local(size, f) }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%d ranks hang", size)
		return nil
	}
}

// collectives are all ways to wait for the others.
var collectives = map[string]func(c Comm) error{
	"a sum of 3 numbers":                 func(c Comm) error { return c.Sum(make([]float32, 3)) },
	"a gathering of bytes":               func(c Comm) error { _, err := c.Gather([]byte("x")); return err },
	"a broadcast of 4 bytes from rank 0": func(c Comm) error { return c.Broadcast(make([]byte, 4), 0) },
	"a barrier":                          func(c Comm) error { return c.Barrier() },
	"a gathering of %d numbers in all":   func(c Comm) error { return c.GatherRows(make([]float32, c.Size()), []float32{1}) },
}

// One rank fails, each in turn: all end with one line that names it and its host.
func TestARankThatFailsEndsAllWithOneLine(t *testing.T) {
	broken := errors.New("image 7 is unreadable")
	faults := map[string]func(c Comm) error{
		broken.Error():              func(Comm) error { return broken },
		"panic: index out of range": func(Comm) error { panic("index out of range") },
		"the disk is full": func(c Comm) error {
			c.Abort(errors.New("the disk is full"))
			return c.Barrier()
		},
		"panic: runtime error: invalid memory address or nil pointer dereference": func(Comm) error {
			var p *int
			*p = 1
			return nil
		},
	}
	for _, size := range []int{1, 2, 3, 8} {
		for who := range size {
			for fault, fail := range faults {
				for what, wait := range collectives {
					err := ends(t, size, func(c Comm) error {
						if err := wait(c); err != nil { // all is well at first
							return err
						}
						if c.Rank() == who {
							return fail(c)
						}
						err := wait(c)
						if again := c.Barrier(); err == nil || again == nil || err.Error() != again.Error() {
							t.Errorf("%d ranks in %s: %v, and then %v", size, what, err, again)
						}
						return err
					})
					if want := fmt.Sprintf("rank %d (%s): %s", who, host(), fault); err == nil || err.Error() != want {
						t.Errorf("%d ranks in %s: %v, want %q", size, what, err, want)
					}
				}
			}
		}
	}
	if err := Local(2, func(Comm) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the cause is lost: %v", err)
	}
	var p *PanicError
	if err := Local(2, func(Comm) error { panic(1) }); !errors.As(err, &p) || !strings.Contains(string(p.Stack), "fault_test.go") {
		t.Errorf("the stack is lost: %v", err)
	}
}

// A rank leaves without an error, before or after the others wait for it.
func TestARankThatLeavesEarlyEndsAll(t *testing.T) {
	for _, size := range []int{2, 3, 8} {
		for who := range size {
			for what, wait := range collectives {
				for _, pause := range []time.Duration{0, 5 * time.Millisecond} {
					err := ends(t, size, func(c Comm) error {
						if c.Rank() != who {
							return wait(c)
						}
						time.Sleep(pause)
						return nil
					})
					want := fmt.Sprintf("rank %d (%s): it left ", who, host())
					if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), strings.ReplaceAll(what, "%d", fmt.Sprint(size))) {
						t.Errorf("%d ranks in %s: %v, want %q", size, what, err, want)
					}
				}
			}
		}
	}
	// All may leave at once.
	if err := ends(t, 4, func(c Comm) error { return c.Barrier() }); err != nil {
		t.Error(err)
	}
}

func TestRanksThatCallOtherThingsAllFail(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(c Comm) error
		want []string
	}{
		"other lengths": {func(c Comm) error { return c.Sum(make([]float32, 1+c.Rank()/2)) }, []string{"rank 2 (", "it is at a sum of 2 numbers, rank 0 is at a sum of 1 numbers"}},
		"other calls": {func(c Comm) error {
			if c.Rank() == 1 {
				return c.Barrier()
			}
			return c.Sum([]float32{1})
		}, []string{"rank 1 (", "it is at a barrier, rank 0 is at a sum of 1 numbers"}},
		"other roots":  {func(c Comm) error { return c.Broadcast(make([]byte, 2), c.Rank()/2) }, []string{"rank 2 (", "from rank 1, rank 0 is at a broadcast of 2 bytes from rank 0"}},
		"no such root": {func(c Comm) error { return c.Broadcast(make([]byte, 2), 3) }, []string{"broadcast from rank 3 of 3"}},
		"too few rows": {func(c Comm) error { return c.GatherRows(make([]float32, 9), make([]float32, c.Rank())) }, []string{"the destination has 9 numbers, all ranks together 3"}},
	} {
		failures := make([]error, 3)
		err := ends(t, 3, func(r Comm) error {
			failures[r.Rank()] = c.f(r)
			return failures[r.Rank()]
		})
		for rank, failed := range append(failures, err) {
			for _, want := range c.want {
				if failed == nil || !strings.Contains(failed.Error(), want) {
					t.Errorf("%s: rank %d: %v does not say %q", name, rank, failed, want)
				}
			}
		}
	}
	if err := Local(0, nil); err == nil {
		t.Error("no ranks")
	}
	if err := (Single{}).GatherRows(make([]float32, 2), make([]float32, 1)); err == nil {
		t.Error("a destination of another length")
	}
}
