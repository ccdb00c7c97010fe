package serve

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// seats bound how many queries wait and are worked on at a time.
type seats struct {
	all   *semaphore.Weighted
	total int64
	taken atomic.Int64
}

func newSeats(n int) *seats { return &seats{all: semaphore.NewWeighted(int64(n)), total: int64(n)} }

// take takes seats for n queries, all that there are if n is more. It does not wait: the
// error is an answer of 503.
func (s *seats) take(n int) (leave func(), err error) {
	own := min(int64(n), s.total)
	if !s.all.TryAcquire(own) {
		return nil, busy(fmt.Errorf("%d queries are waiting already, try again", s.taken.Load()))
	}
	s.taken.Add(own)
	return func() { s.taken.Add(-own); s.all.Release(own) }, nil
}

func busy(err error) error { return failure{http.StatusServiceUnavailable, err} }
