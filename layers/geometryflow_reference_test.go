package layers_test

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/layers"
)

// plainFlow is the layer as the paper writes it, in float64 and without Gram
// matrices: x[j][c] is a vector. It returns w and the matrix of Eq. 14.
func plainFlow(x [][][]float64, spec layers.FlowSpec) (w, m *mat.Dense) {
	n, channels := len(x), len(x[0])
	d := mat.NewDense(n, n, nil)
	total, largest, numbers := 0.0, 0.0, 0.0
	for j := range n {
		for l := range n {
			sum := 0.0
			numbers = 0
			for c := range channels {
				for p := range x[j][c] {
					sum += math.Pow(x[j][c][p]-x[l][c][p], 2)
					numbers++
				}
			}
			d.Set(j, l, math.Sqrt(sum))
			total += math.Sqrt(sum)
			largest = max(largest, math.Sqrt(sum))
		}
	}
	unit := map[layers.FlowDistance]float64{layers.FlowMean: total / float64(n*(n-1)), layers.FlowMax: largest,
		layers.FlowRMS: math.Sqrt(numbers), layers.FlowNone: 1}[spec.Distance]
	near := func(j, l int) bool { return d.At(j, l) <= spec.Delta*unit }
	neighbors := func(j int) (set []int) {
		for l := range n {
			if l == j && !spec.Alone || l != j && near(j, l) {
				set = append(set, l)
			}
		}
		return set
	}
	eps := spec.Eps
	if eps == 0 {
		eps = 2 / (math.Pi * float64(channels))
	}
	w = mat.NewDense(n, n, nil)
	for j := range n {
		for l := range n {
			if j == l || !near(j, l) {
				continue
			}
			weight := 1.0
			if spec.Curvature {
				theta := 0.0
				for c := range channels {
					theta += plainAngle(plainTangent(x, neighbors(j), c, spec), plainTangent(x, neighbors(l), c, spec), spec.Orthogonal)
				}
				r := d.At(j, l)
				if !spec.Raw {
					r /= unit
				}
				if theta > 0 {
					weight -= eps * theta / r
				}
			}
			if !spec.Negative {
				weight = max(weight, 0)
			}
			w.Set(j, l, weight)
		}
	}
	m = mat.NewDense(n, n, nil)
	for j := range n {
		sum := 1 + spec.Lambda*mat.Sum(w.RowView(j))
		for l := range n {
			m.Set(j, l, spec.Lambda*w.At(j, l)/sum)
		}
		m.Set(j, j, 1/sum)
	}
	return w, m
}

// plainTangent returns principal vectors of items in a channel as rows.
func plainTangent(x [][][]float64, set []int, c int, spec layers.FlowSpec) [][]float64 {
	if len(set) < 2 {
		return nil
	}
	size := len(x[0][c])
	rows := mat.NewDense(len(set), size, nil)
	for r, j := range set {
		rows.SetRow(r, x[j][c])
	}
	for p := range size {
		mean := mat.Sum(rows.ColView(p)) / float64(len(set))
		for r := range set {
			rows.Set(r, p, rows.At(r, p)-mean)
		}
	}
	var svd mat.SVD
	svd.Factorize(rows, mat.SVDThin)
	var v mat.Dense
	svd.VTo(&v)
	values := svd.Values(nil)
	total, held := 0.0, 0.0
	for _, s := range values {
		total += s * s
	}
	var list [][]float64
	for k, s := range values {
		enough := k == spec.Components
		if spec.Variance > 0 {
			enough = held >= spec.Variance*total
		}
		if enough || s < 1e-6 {
			break
		}
		held += s * s
		list = append(list, mat.Col(nil, k, &v))
	}
	return list
}

func plainAngle(a, b [][]float64, orthogonal bool) float64 {
	if len(a) == 0 || len(b) == 0 {
		if orthogonal {
			return math.Pi / 2
		}
		return 0
	}
	top := 0.0
	for _, u := range a {
		for _, v := range b {
			top = max(top, math.Abs(mat.Dot(mat.NewVecDense(len(u), u), mat.NewVecDense(len(v), v))))
		}
	}
	return math.Acos(min(top, 1))
}
