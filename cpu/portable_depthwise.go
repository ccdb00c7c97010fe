package cpu

func depthwise(dst, src []float32, at []int, w []float32, start, ceiling float32) {
	for i := range dst {
		dst[i] = start
	}
	for t, from := range at {
		x, by := src[from:][:len(dst)], w[t]
		for i := range dst {
			dst[i] += by * x[i]
		}
	}
	if ceiling != 0 {
		for i, v := range dst {
			dst[i] = bound(v, ceiling)
		}
	}
}

func depthwiseSums(sums, g, src []float32, at []int) {
	for t, from := range at {
		x, sum := src[from:][:len(g)], float32(0)
		for i, v := range g {
			sum += v * x[i]
		}
		sums[t] = sum
	}
}
