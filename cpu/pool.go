package cpu

import (
	"sync"
	"sync/atomic"
)

// pool is a fixed set of workers that share the items of one job at a time. The
// caller of run is worker 0. Which worker takes an item is left to chance, so an
// item's result must not depend on it.
type pool struct {
	threads int
	jobs    chan *job
	once    sync.Once
	done    chan struct{} // closed by close; jobs never is, so that run may send
}

type job struct {
	do     func(worker, item int)
	items  int64
	next   atomic.Int64
	left   sync.WaitGroup // items not yet done
	undone atomic.Int64   // their number
	// failure is the first panic of an item.
	failure atomic.Pointer[failure]
}

type failure struct{ value any }

func newPool(threads int) *pool {
	p := &pool{threads: threads, jobs: make(chan *job, threads), done: make(chan struct{})}
	for w := 1; w < threads; w++ {
		go func() {
			for {
				spin(func() bool { return len(p.jobs) > 0 })
				select {
				case j := <-p.jobs:
					j.work(w)
				case <-p.done:
					return
				}
			}
		}()
	}
	return p
}

// spin waits some microseconds for what mostly comes soon, the next operation or
// the end of one: to sleep and be woken takes longer than many operations.
func spin(until func() bool) {
	const tries = 10_000
	for i := 0; i < tries && !until(); i++ {
	}
}

// close ends the workers. A job that is under way is still done, by its caller.
func (p *pool) close() { p.once.Do(func() { close(p.done) }) }

func (p *pool) closed() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// run calls do for every item from 0 to items-1 and returns when all are done.
// A panic in an item is raised again here.
func (p *pool) run(items int, do func(worker, item int)) {
	if items <= 1 || p.threads == 1 || p.closed() {
		for i := range items {
			do(0, i)
		}
		return
	}
	// A worker may wake up when this job has long ended, so a job is not reused.
	j := &job{do: do, items: int64(items)}
	j.left.Add(items)
	j.undone.Store(int64(items))
wake:
	for range min(p.threads-1, items-1) {
		select {
		case p.jobs <- j:
		default: // every worker has been called already
			break wake
		}
	}
	j.work(0)
	spin(func() bool { return j.undone.Load() == 0 })
	j.left.Wait()
	if f := j.failure.Load(); f != nil {
		panic(f.value)
	}
}

func (j *job) work(worker int) {
	for {
		i := j.next.Add(1) - 1
		if i >= j.items {
			return
		}
		j.item(worker, int(i))
	}
}

func (j *job) item(worker, i int) {
	defer func() {
		if v := recover(); v != nil {
			j.failure.CompareAndSwap(nil, &failure{v})
		}
		j.undone.Add(-1)
		j.left.Done()
	}()
	j.do(worker, i)
}

// chunk is the number of elements of an element-wise operation that make one
// item: 64 KiB, so that three operands stay in a second-level cache.
const chunk = 16 << 10

// spans calls do for consecutive spans of [0, n), each a multiple of chunk long
// but the last.
func (p *pool) spans(n int, do func(from, to int)) {
	if n <= chunk {
		do(0, n)
		return
	}
	p.run((n+chunk-1)/chunk, func(_, i int) {
		do(i*chunk, min((i+1)*chunk, n))
	})
}
