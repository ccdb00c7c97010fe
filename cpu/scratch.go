package cpu

// scratch keeps the buffers that operations need in between, so that they are
// allocated once. It grows and never shrinks.
type scratch struct {
	workers []workerScratch
	left    []float32 // a packed left operand, shared by all workers
	right   []float32 // a packed right operand
	parts   []float32 // partial sums of a product whose depth is split
	first   []float32 // whole matrices of one operation
	second  []float32
	third   []float32
}

// workerScratch belongs to the worker of its index while a job runs.
type workerScratch struct {
	left, right []float32 // packed blocks
	block       []float32 // the block of the result being summed
	wide        []float32 // a panel before it is rounded to bfloat16
	rows        []float32 // rows before they are transposed, or other small things
}

// grow returns (*buf)[:n], reallocated if it is too small. The contents are
// undefined.
func grow(buf *[]float32, n int) []float32 {
	if cap(*buf) < n {
		// A page or more is page-aligned, and so every packed vector is aligned.
		*buf = make([]float32, max(n, 16<<10))
		preferHugePages(*buf)
	}
	return (*buf)[:n]
}
