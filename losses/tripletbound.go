package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// TripletBound is the upper bound of the sum of all triplets' D(a,p) - D(a,q)
// that fixed class centroids give by the triangle inequality (Do et al. 2019;
// chapter 16.2.5.3), in O(rows x classes):
//
//	D(a, c_own) - 1/(3(C-1)) sum over other centroids c of D(a,c)
//
// mean over rows. The centroids, which FixedClasses makes, are not learned.
type TripletBound struct {
	// OneHot makes the centroid of class c the c-th unit vector, which needs as
	// many dimensions as classes. Otherwise centroids are spread over the
	// unit sphere by k-means on random points.
	OneHot bool

	columns []int
}

// Columns is Classes.
func (*TripletBound) Columns() Columns { return Classes }

// Eval implements Loss. Its terms are rows. The value may be negative.
func (l *TripletBound) Eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.checkClasses("triplet-bound", grad); err != nil {
		return Result{}, err
	}
	columns, err := classGroups("triplet-bound", m, 1, l.columns)
	if err != nil {
		return Result{}, err
	}
	l.columns = columns
	away := m.Away()
	push := 0.0
	if m.Cols > 1 {
		push = 1 / (3 * float64(m.Cols-1))
	}
	r := Result{Active: m.Rows, Total: m.Rows}
	for i, label := range m.RowLabels {
		v, g := m.row(m.V, i), m.row(grad, i)
		for j, x := range v {
			weight := -push
			if j == columns[label] {
				weight = 1
			}
			r.Value += weight * away * x
			g[j] = weight * away
		}
	}
	r = r.mean(grad)
	return r, checkValue("triplet-bound", r.Value)
}

// FixedClasses returns the centroids, each of length 1.
func (l *TripletBound) FixedClasses(classes, dim int, seed uint64) ([]float64, error) {
	if classes < 1 || dim < 1 || classes > maxClasses || dim > math.MaxInt32/classes {
		return nil, fmt.Errorf("losses: triplet-bound: %d centroids of %d dimensions, want at least one of each and fewer than 2^31 numbers", classes, dim)
	}
	if !l.OneHot {
		return spreadOverSphere(classes, dim, seed), nil
	}
	if dim < classes {
		return nil, fmt.Errorf("losses: triplet-bound: one-hot centroids of %d classes need as many dimensions, not %d; use those on the sphere", classes, dim)
	}
	x := make([]float64, classes*dim)
	for c := range classes {
		x[c*dim+c] = 1
	}
	return x, nil
}

// spreadOverSphere clusters random points on the unit sphere by spherical
// k-means and returns the centers. Points are as many as keep the work small:
// at most 20 a center.
func spreadOverSphere(k, dim int, seed uint64) []float64 {
	const rounds, work = 10, 4e9
	perCenter := int(math.Max(1, math.Min(20, work/(rounds*float64(k)*float64(k)*float64(dim)))))
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	points := make([]float64, k*perCenter*dim)
	for i := range points {
		points[i] = rng.NormFloat64()
	}
	for i := 0; i < len(points); i += dim {
		toUnit(points[i : i+dim])
	}
	centers := make([]float64, k*dim)
	copy(centers, points) // random points themselves
	sums := make([]float64, k*dim)
	for range rounds {
		clear(sums)
		for i := 0; i < len(points); i += dim {
			point := points[i : i+dim]
			best, top := 0, math.Inf(-1)
			for c := range k {
				s := 0.0
				for d, x := range centers[c*dim : (c+1)*dim] {
					s += x * point[d]
				}
				if s > top {
					best, top = c, s
				}
			}
			for d, x := range point {
				sums[best*dim+d] += x
			}
		}
		for c := range k {
			sum := sums[c*dim : (c+1)*dim]
			if toUnit(sum) {
				copy(centers[c*dim:(c+1)*dim], sum)
			}
		}
	}
	return centers
}

// toUnit brings x to length 1, if it has a length.
func toUnit(x []float64) bool {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	if sum == 0 {
		return false
	}
	inverse := 1 / math.Sqrt(sum)
	for i := range x {
		x[i] *= inverse
	}
	return true
}

func tripletBoundEntry(Options) entry {
	return entry{
		meaning: "upper bound of all triplets by fixed class centroids, linear in their number",
		source:  "Do et al. 2019; chapter 16.2.5.3",
		columns: Classes,
		settings: []setting{
			oneOf("centroids", "spread over the sphere by k-means, or one-hot (needs a dimension a class)", "sphere", "one-hot"),
		},
		build: func(v values) (Loss, error) { return &TripletBound{OneHot: v.word("centroids") == "one-hot"}, nil },
	}
}
