package losses

import (
	"runtime"
	"sync"
)

// minShare is how many matrix entries are worth a goroutine of their own.
const minShare = 1 << 16

// spread calls fn for parts of 0..n-1, at once where the work, of the given
// number of matrix entries, is worth it. Parts are numbered from 0 and fewer than
// parts(). What fn does for an index must not depend on the part that it is in:
// then neither does the result on the number of processors.
func spread(n, work int, fn func(part, from, to int)) {
	count := max(1, min(parts(), n, work/minShare))
	if count == 1 {
		fn(0, 0, n)
		return
	}
	var wait sync.WaitGroup
	for part := range count {
		wait.Go(func() { fn(part, part*n/count, (part+1)*n/count) })
	}
	wait.Wait()
}

// parts is the most parts that spread makes.
func parts() int { return runtime.GOMAXPROCS(0) }

// sum adds up in order.
func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}
