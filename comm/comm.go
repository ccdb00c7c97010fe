package comm

import (
	"errors"
	"fmt"
	"os"
)

// Comm is a rank's view of its group. Sum, Gather, GatherRows, Broadcast, Barrier and
// Close are collective: every rank calls them, in the same order. After an error, which
// names the rank at fault where one is known, the group is of no more use. Calls come
// from one goroutine at a time; Abort from any.
type Comm interface {
	// Rank is the number of this rank, from 0, and Size that of all ranks.
	Rank() int
	Size() int
	// Name says what connects the ranks: "one process", "4 goroutines".
	Name() string
	// Sum sets x to the sum of all ranks' x, which are of one length, in the order of Tree
	// over the ranks.
	Sum(x []float32) error
	// Gather returns every rank's x, in the order of ranks. Lengths may differ.
	Gather(x []byte) ([][]byte, error)
	// GatherRows sets dst to the x of rank 0, of rank 1 and so on. Lengths may differ; dst
	// is as long as all together.
	GatherRows(dst, x []float32) error
	// Broadcast sets x to that of the rank root. All are of one length.
	Broadcast(x []byte, root int) error
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Abort ends the work of all ranks because of err: what they wait for, and all they
	// call later, is an error that names this rank. Of processes it ends all, and does
	// not return.
	Abort(err error)
	// Close leaves the group, together with all others.
	Close() error
}

// Single is the group of a program that runs alone.
type Single struct{}

// Rank is 0.
func (Single) Rank() int { return 0 }

// Size is 1.
func (Single) Size() int { return 1 }

// Name is "one process".
func (Single) Name() string { return "one process" }

// Sum leaves x as it is.
func (Single) Sum([]float32) error { return nil }

// Gather returns x alone.
func (Single) Gather(x []byte) ([][]byte, error) { return [][]byte{x}, nil }

// GatherRows copies x.
func (Single) GatherRows(dst, x []float32) error {
	if len(dst) != len(x) {
		return wrongTotal(len(dst), len(x))
	}
	copy(dst, x)
	return nil
}

// Broadcast leaves x as it is.
func (Single) Broadcast(_ []byte, root int) error { return checkRoot(root, 1) }

// Barrier returns at once.
func (Single) Barrier() error { return nil }

// Abort does nothing: the caller returns the error.
func (Single) Abort(error) {}

// Close does nothing.
func (Single) Close() error { return nil }

// OrSingle is c, or Single where c is nil.
func OrSingle(c Comm) Comm {
	if c == nil {
		return Single{}
	}
	return c
}

// RankError is a failure of one rank, as the others report it.
type RankError struct {
	Rank int
	Host string // that the rank runs on
	Err  error
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d (%s): %v", e.Rank, e.Host, e.Err) }

// Unwrap returns the cause.
func (e *RankError) Unwrap() error { return e.Err }

// failure is err as a RankError, unless it is one.
func failure(rank int, err error) *RankError {
	if e := new(RankError); errors.As(err, &e) {
		return e
	}
	return &RankError{rank, host(), err}
}

// host is the name of this machine.
func host() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "unknown host"
}

func wrongTotal(have, want int) error {
	return fmt.Errorf("gathering rows: the destination has %d numbers, all ranks together %d", have, want)
}

func checkRoot(root, size int) error {
	if root < 0 || root >= size {
		return fmt.Errorf("broadcast from rank %d of %d", root, size)
	}
	return nil
}
