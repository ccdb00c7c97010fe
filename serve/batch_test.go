package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func unseen(int) {}

// While one batch is worked on the next one gathers, up to its limit, in order.
func TestWhatWaitsIsOneBatch(t *testing.T) {
	var sizes []int
	begun, finish := make(chan bool, 3), make(chan bool)
	b := newBatcher(1, 4, func(n int) { sizes = append(sizes, n) }, func(_ context.Context, q []int) ([]int, []error) {
		begun <- true
		<-finish
		a, errs := make([]int, len(q)), make([]error, len(q))
		for i, v := range q {
			if a[i] = v * v; v == 13 {
				errs[i] = errors.New("unlucky")
			}
		}
		return a, errs
	})
	var all sync.WaitGroup
	ask := func(v int) {
		all.Go(func() {
			a, err := b.do(t.Context(), v)
			if v == 13 && (err == nil || err.Error() != "unlucky") || v != 13 && (err != nil || a[0] != v*v) {
				t.Errorf("%d: %v, %v", v, a, err)
			}
		})
	}
	ask(1)
	<-begun
	for v := 10; v < 15; v++ {
		ask(v)
	}
	for {
		b.mu.Lock()
		n := len(b.waiting)
		b.mu.Unlock()
		if n == 5 {
			break
		}
	}
	close(finish)
	all.Wait()
	if fmt.Sprint(sizes) != "[1 4 1]" {
		t.Errorf("batches of %v, want 1, 4 and 1", sizes)
	}
}

// A request of more than a batch is answered as a whole, in its order.
func TestALongRequestIsSeveralBatches(t *testing.T) {
	b := newBatcher(2, 4, unseen, func(_ context.Context, q []int) ([]int, []error) { return q, make([]error, len(q)) })
	var want []int
	for i := range 11 {
		want = append(want, i)
	}
	got, err := b.do(t.Context(), want...)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v: %v", got, err)
	}
}

// Whoever goes takes what was not begun along; a batch that panics leaves nobody waiting.
func TestWaitersThatGoAndWorkThatPanics(t *testing.T) {
	var worked atomic.Int32
	begun, finish := make(chan bool, 1), make(chan bool)
	b := newBatcher(1, 1, unseen, func(ctx context.Context, q []int) ([]int, []error) {
		worked.Add(1)
		if q[0] == 0 {
			begun <- true
			<-finish
			panic("at the disco")
		}
		return q, make([]error, 1)
	})
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- recover() }()
		_, err := b.do(t.Context(), 0)
		ended <- err
	}()
	<-begun
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := b.do(gone, 1, 2); left <- err }()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is gone: %v", err)
	}
	close(finish)
	if got := <-ended; got != "at the disco" {
		t.Errorf("the panic became %v", got)
	}
	if got, err := b.do(t.Context(), 3); err != nil || got[0] != 3 || worked.Load() != 2 {
		t.Errorf("afterwards: %v, %v, %d batches", got, err, worked.Load())
	}
}
