package serve

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// batcher does work for several requests at a time: while one batch is worked on, the next
// one gathers. A request that finds a place to work does so for all that wait, itself
// among them; no goroutine outlives the requests.
type batcher[Q, A any] struct {
	max    int           // jobs of a batch
	places chan struct{} // of batches that are worked on
	// work answers queries, each with an answer or an error. It ends by itself: what a
	// batch does for many does not end with one of them.
	work func(ctx context.Context, queries []Q) ([]A, []error)
	// seen is called with the size of every batch.
	seen func(size int)

	mu      sync.Mutex
	waiting []*job[Q, A]
}

type job[Q, A any] struct {
	query  Q
	answer A
	err    error
	done   chan struct{}
}

func newBatcher[Q, A any](batches, max int, seen func(int), work func(context.Context, []Q) ([]A, []error)) *batcher[Q, A] {
	return &batcher[Q, A]{max: max, places: make(chan struct{}, batches), work: work, seen: seen}
}

// do has queries answered, in one batch or several, with others that come at the same time.
// The error is that of the first query that has one, or the context's.
func (b *batcher[Q, A]) do(ctx context.Context, queries ...Q) ([]A, error) {
	jobs := make([]*job[Q, A], len(queries))
	for i, q := range queries {
		jobs[i] = &job[Q, A]{query: q, done: make(chan struct{})}
	}
	b.mu.Lock()
	b.waiting = append(b.waiting, jobs...)
	b.mu.Unlock()
	answers := make([]A, len(jobs))
	for i, j := range jobs {
		if err := b.finish(ctx, j); err != nil {
			b.drop(jobs[i:])
			return nil, err
		}
		answers[i] = j.answer
	}
	return answers, nil
}

// finish waits for a job, or works on batches until it is done.
func (b *batcher[Q, A]) finish(ctx context.Context, j *job[Q, A]) error {
	for {
		select {
		case <-j.done:
			return j.err
		default:
		}
		select {
		case <-j.done:
			return j.err
		case <-ctx.Done():
			return context.Cause(ctx)
		case b.places <- struct{}{}:
			b.batch(context.WithoutCancel(ctx))
		}
	}
}

// drop takes jobs that nobody waits for any longer out of the queue.
func (b *batcher[Q, A]) drop(jobs []*job[Q, A]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(j *job[Q, A]) bool { return slices.Contains(jobs, j) })
}

var errUnanswered = errors.New("the query was not answered")

// batch works on what waits, and gives its place back.
func (b *batcher[Q, A]) batch(ctx context.Context) {
	b.mu.Lock()
	n := min(b.max, len(b.waiting))
	jobs := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	b.mu.Unlock()
	for _, j := range jobs {
		j.err = errUnanswered // if work panics
	}
	defer func() {
		for _, j := range jobs {
			close(j.done)
		}
		<-b.places
	}()
	if n == 0 {
		return
	}
	b.seen(n)
	queries := make([]Q, n)
	for i, j := range jobs {
		queries[i] = j.query
	}
	answers, errs := b.work(ctx, queries)
	for i, j := range jobs {
		j.answer, j.err = answers[i], errs[i]
	}
}
