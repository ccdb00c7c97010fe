package eval

import "math"

// adjusted is the adjusted mutual information with the arithmetic mean.
func (t *contingency) adjusted(mi, ht, hc float64) float64 {
	if len(t.rows) == len(t.cols) && (len(t.rows) == 1 || len(t.rows) == t.n) {
		return 1 // both in one group, or both all apart: the same partition
	}
	expected := t.expectedInformation()
	span := (ht+hc)/2 - expected
	if math.Abs(span) < 0x1p-52 { // rounding noise of a span that is 0
		span = math.Copysign(0x1p-52, span)
	}
	return (mi - expected) / span
}

// expectedInformation is the mean mutual information over all pairs of
// partitions with these group sizes (Vinh, Epps and Bailey 2010, Eq. 24a). The
// term of a class and a cluster depends on their sizes only, so that thousands
// of classes of few sizes cost no more than the sizes do.
func (t *contingency) expectedInformation() float64 {
	rows, cols := sizeCounts(t.rows), sizeCounts(t.cols)
	logFactorial := make([]float64, t.n+1)
	for i := 2; i <= t.n; i++ {
		logFactorial[i] = logFactorial[i-1] + math.Log(float64(i))
	}
	n, f := t.n, logFactorial
	sum := 0.0
	for _, a := range rows {
		for _, b := range cols {
			term := 0.0
			fixed := f[a.size] + f[b.size] + f[n-a.size] + f[n-b.size] - f[n]
			for k := max(1, a.size+b.size-n); k <= min(a.size, b.size); k++ {
				weight := math.Exp(fixed - f[k] - f[a.size-k] - f[b.size-k] - f[n-a.size-b.size+k])
				share := float64(k) / float64(n)
				term += share * math.Log(share*float64(n)/float64(a.size)*(float64(n)/float64(b.size))) * weight
			}
			sum += term * float64(a.groups) * float64(b.groups)
		}
	}
	return sum
}

type sizeCount struct{ size, groups int }

// sizeCounts lists the distinct sizes, ascending, and how many groups have each.
func sizeCounts(sizes []int) (counts []sizeCount) {
	of, distinct := Compact(sizes)
	for _, s := range distinct {
		counts = append(counts, sizeCount{size: s})
	}
	for _, i := range of {
		counts[i].groups++
	}
	return counts
}
