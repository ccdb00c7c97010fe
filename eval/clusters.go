package eval

import (
	"fmt"
	"math"
)

// Agreement compares a clustering with the true classes. Logarithms are
// natural. Figures run from 0 to 1, AMI and ARI from slightly below 0.
type Agreement struct {
	// NMI is 2I/(H+H), the arithmetic mean (BRM Eq. 16): 1 if both put
	// everything into one group, 0 if only one does. VMeasure is equal to it.
	NMI float64
	// AMI is (I - E I)/((H+H)/2 - E I), adjusted for chance (Vinh, Epps and
	// Bailey 2010): 0 on average for random clusterings.
	AMI float64
	// ARI is the adjusted Rand index (Hubert and Arabie 1985).
	ARI float64
	// Homogeneity I/H(truth) and Completeness I/H(clusters) have VMeasure as
	// their harmonic mean (Rosenberg and Hirschberg 2007).
	Homogeneity, Completeness, VMeasure float64
	// FowlkesMallows is TP/sqrt((TP+FP)(TP+FN)), PairwiseF1 2TP/(2TP+FP+FN).
	FowlkesMallows, PairwiseF1 float64
	// Purity is the share of rows in the largest class of their cluster.
	Purity float64
	// MutualInformation in nats.
	MutualInformation float64
	Pairs             PairCounts
}

// PairCounts counts unordered pairs of rows: together in both, in the clusters
// only, in the truth only.
type PairCounts struct{ TP, FP, FN float64 }

// CompareClusters compares the true labels of n rows with their clusters. Both
// may be any integers.
func CompareClusters(truth, assignment []int) (Agreement, error) {
	if len(truth) != len(assignment) {
		return Agreement{}, fmt.Errorf("eval: %d labels and %d cluster numbers: want one of each for every row", len(truth), len(assignment))
	}
	if len(truth) == 0 {
		return Agreement{}, fmt.Errorf("eval: no rows to compare clusters of")
	}
	t := newContingency(truth, assignment)
	a := Agreement{Pairs: t.pairs(), Purity: t.purity(), MutualInformation: t.mutualInformation()}
	ht, hc := entropy(t.rows, t.n), entropy(t.cols, t.n)
	a.NMI = share(2*a.MutualInformation, ht+hc)
	a.VMeasure = a.NMI
	a.Homogeneity = share(a.MutualInformation, ht)
	a.Completeness = share(a.MutualInformation, hc)
	a.AMI = t.adjusted(a.MutualInformation, ht, hc)
	a.pairFigures(float64(t.n))
	return a, nil
}

// share is part/whole, 1 for 0/0: where there is nothing to tell apart, nothing
// is distinguished wrongly.
func share(part, whole float64) float64 {
	if whole == 0 {
		return 1
	}
	return part / whole
}

func (a *Agreement) pairFigures(n float64) {
	p := a.Pairs
	a.PairwiseF1 = share(2*p.TP, 2*p.TP+p.FP+p.FN)
	a.FowlkesMallows = 0
	switch {
	case p.TP > 0:
		a.FowlkesMallows = math.Sqrt(p.TP/(p.TP+p.FP)) * math.Sqrt(p.TP/(p.TP+p.FN))
	case p.FP+p.FN == 0:
		a.FowlkesMallows = 1
	}
	// With TN the pairs that are apart in both: ARI = 2(TP TN - FP FN) /
	// ((TP+FN)(FN+TN) + (TP+FP)(FP+TN)).
	tn := n*(n-1)/2 - p.TP - p.FP - p.FN
	a.ARI = share(2*(p.TP*tn-p.FP*p.FN), (p.TP+p.FN)*(p.FN+tn)+(p.TP+p.FP)*(p.FP+tn))
}

// contingency counts rows by class and cluster; only cells that occur are kept.
type contingency struct {
	n          int
	rows, cols []int // sizes of classes and clusters
	cells      []cell
}

type cell struct{ row, col, n int }

func newContingency(truth, assignment []int) *contingency {
	row, rows := Compact(truth)
	col, cols := Compact(assignment)
	t := &contingency{n: len(truth), rows: make([]int, len(rows)), cols: make([]int, len(cols))}
	at := make(map[[2]int]int)
	for i := range truth {
		t.rows[row[i]]++
		t.cols[col[i]]++
		key := [2]int{row[i], col[i]}
		c, ok := at[key]
		if !ok {
			c = len(t.cells)
			at[key] = c
			t.cells = append(t.cells, cell{row: row[i], col: col[i]})
		}
		t.cells[c].n++
	}
	return t
}

func (t *contingency) pairs() PairCounts {
	var tp, together, classmates float64
	for _, c := range t.cells {
		tp += choose2(c.n)
	}
	for _, n := range t.cols {
		together += choose2(n)
	}
	for _, n := range t.rows {
		classmates += choose2(n)
	}
	return PairCounts{TP: tp, FP: together - tp, FN: classmates - tp}
}

func choose2(n int) float64 { return float64(n) * float64(n-1) / 2 }

func (t *contingency) purity() float64 {
	largest := make([]int, len(t.cols))
	for _, c := range t.cells {
		largest[c.col] = max(largest[c.col], c.n)
	}
	sum := 0
	for _, n := range largest {
		sum += n
	}
	return float64(sum) / float64(t.n)
}

func (t *contingency) mutualInformation() float64 {
	sum := 0.0
	for _, c := range t.cells {
		sum += float64(c.n) * math.Log(float64(c.n)/float64(t.rows[c.row])*(float64(t.n)/float64(t.cols[c.col])))
	}
	return max(sum/float64(t.n), 0)
}

// entropy of a partition of n rows into groups of these sizes, in nats: exactly
// 0 for one group.
func entropy(sizes []int, n int) float64 {
	if len(sizes) == 1 {
		return 0
	}
	sum := 0.0
	for _, s := range sizes {
		sum -= float64(s) * math.Log(float64(s)/float64(n))
	}
	return sum / float64(n)
}

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
