package eval

import (
	"fmt"
	"math"
	"runtime"
)

// finiteChunk is how many numbers a goroutine looks at before the next.
const finiteChunk = 1 << 16

// checkFinite refuses numbers that are not finite.
func (e *Embeddings) checkFinite() error {
	chunks := (len(e.X) + finiteChunk - 1) / finiteChunk
	return parallel(runtime.GOMAXPROCS(0), chunks, func(_, chunk int) error {
		from := chunk * finiteChunk
		x := e.X[from:min(from+finiteChunk, len(e.X))]
		if allFinite(x) {
			return nil
		}
		for i, v := range x {
			if v-v != 0 { // of NaN and infinities only
				at := from + i
				return fmt.Errorf("eval: row %d holds %v in coordinate %d: embeddings must be finite", at/e.H, v, at%e.H)
			}
		}
		return nil
	})
}

// allFinite looks at exponents: 1 added to one of ones alone, which NaN and infinities have,
// reaches the sign.
func allFinite(x []float32) bool {
	const exponent, one = 0x7f800000, 0x00800000
	var a, b, c, d uint32
	for ; len(x) >= 4; x = x[4:] {
		a |= math.Float32bits(x[0])&exponent + one
		b |= math.Float32bits(x[1])&exponent + one
		c |= math.Float32bits(x[2])&exponent + one
		d |= math.Float32bits(x[3])&exponent + one
	}
	for _, v := range x {
		a |= math.Float32bits(v)&exponent + one
	}
	return (a|b|c|d)>>31 == 0
}
