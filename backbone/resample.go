package backbone

import "math"

// resampleGrid brings a grid of from x from vectors of d numbers to to x to
// vectors by cubic convolution (Keys 1981) with a = -0.75. Sample i of the new
// grid lies at (i + 0.5)*from/to - 0.5 of the old; what lies beyond an edge has
// the edge's values.
func resampleGrid(grid []float32, from, to, d int) []float32 {
	rows := make([]float64, to*from*d) // (to, from, d): first along the columns
	for i := range to {
		index, weight := cubicTaps(i, from, to)
		for k := range 4 {
			for j, v := range grid[index[k]*from*d : (index[k]+1)*from*d] {
				rows[i*from*d+j] += weight[k] * float64(v)
			}
		}
	}
	out := make([]float32, to*to*d)
	sum := make([]float64, d)
	for i := range to {
		for j := range to {
			clear(sum)
			index, weight := cubicTaps(j, from, to)
			for k := range 4 {
				at := (i*from + index[k]) * d
				for c, v := range rows[at : at+d] {
					sum[c] += weight[k] * v
				}
			}
			for c, v := range sum {
				out[(i*to+j)*d+c] = float32(v)
			}
		}
	}
	return out
}

// cubicTaps returns the four samples and their weights for sample i of the new
// grid.
func cubicTaps(i, from, to int) (index [4]int, weight [4]float64) {
	const a = -0.75
	at := (float64(i)+.5)*float64(from)/float64(to) - .5
	floor := math.Floor(at)
	for k := range 4 {
		index[k] = min(max(int(floor)+k-1, 0), from-1)
		t := math.Abs(at - floor - float64(k-1))
		if t <= 1 {
			weight[k] = ((a+2)*t-(a+3))*t*t + 1
		} else {
			weight[k] = ((a*t-5*a)*t+8*a)*t - 4*a
		}
	}
	return index, weight
}
