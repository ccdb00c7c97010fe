package cpu

import "time"

// KernelLimit returns the floating-point operations a second that the tile
// kernels reach on all threads, on operands that stay in the first caches: what
// everything dense has to be measured by. It takes about a quarter of a second.
func (e *Engine) KernelLimit() float64 {
	const rounds, span = 10, 20 * time.Millisecond
	kr := e.kernels
	tile := kr.tiles[len(kr.tiles)-1][kr.mr]
	work := func(w *workerScratch, times int) {
		left, right, block := grow(&w.left, kr.mr*kr.depth), grow(&w.right, kr.nr*kr.depth), grow(&w.block, kr.mr*kr.nr)
		for _, operand := range [][]float32{left, right} { // numbers that cost no more than usual
			for i := range operand {
				operand[i] = 1
			}
		}
		for range times {
			tile(block, kr.nr, nil, 0, left, kr.mr, right, kr.nr, kr.depth, nil, nil, nil, 0, 0)
		}
	}
	times := 1
	for took := time.Duration(0); took < span; times *= 2 {
		start := time.Now()
		work(&e.scratch.workers[0], times)
		took = time.Since(start)
	}
	best := 0.
	for range rounds {
		start := time.Now()
		e.pool.run(e.pool.threads, func(worker, _ int) { work(&e.scratch.workers[worker], times) })
		done := 2 * float64(kr.mr*kr.nr*kr.depth) * float64(times) * float64(e.pool.threads)
		best = max(best, done/time.Since(start).Seconds())
	}
	return best
}
