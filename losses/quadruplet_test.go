package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The sorted form against the definition, written out over all quadruplets.
func TestQuadrupletIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for trial := range 30 {
		n := 2 + rng.IntN(9)
		m := randomBatch(rng, n, 1+rng.IntN(4), trial%2 == 0)
		for _, reduction := range []Reduction{MeanNonZero, MeanAll} {
			l := &Quadruplet{Margin1: 0.25, Margin2: 0.125, Reduction: reduction}
			grad, want := make([]float64, n*n), make([]float64, n*n)
			r, err := l.Eval(m, grad)
			if err != nil {
				t.Fatal(err)
			}
			triplets, err := (&Triplet{Margin: 0.25, Reduction: reduction}).Eval(m, want)
			if err != nil {
				t.Fatal(err)
			}
			value, active, total := 0.0, 0, 0
			slopes := make([]float64, n*n)
			y := m.RowLabels
			for a := range n {
				for p := range n {
					for q := range n {
						for o := range n {
							if a == p || y[a] != y[p] || y[q] == y[o] || y[q] == y[a] || y[o] == y[a] {
								continue
							}
							total++
							if x := m.V[a*n+p] - m.V[q*n+o] + 0.125; x > 0 {
								active++
								value += x
								slopes[a*n+p]++
								slopes[q*n+o]--
							}
						}
					}
				}
			}
			divisor := float64(active)
			if reduction == MeanAll {
				divisor = float64(total)
			}
			if active > 0 {
				value /= divisor
			}
			if math.Abs(r.Value-triplets.Value-value) > 1e-13 || r.Active != triplets.Active+active || r.Total != triplets.Total+total {
				t.Fatalf("trial %d: %+v, triplets %+v, want %v more of %d among %d", trial, r, triplets, value, active, total)
			}
			for k := range grad {
				if active > 0 {
					want[k] += slopes[k] / divisor
				}
				if math.Abs(grad[k]-want[k]) > 1e-13 {
					t.Fatalf("trial %d: gradient %d is %v, want %v", trial, k, grad[k], want[k])
				}
			}
		}
	}
	l := &Quadruplet{Reduction: PerAnchor}
	if _, err := l.Eval(randomBatch(rng, 3, 2, false), make([]float64, 9)); err == nil {
		t.Error("a reduction by anchor means nothing to negative pairs")
	}
}

// randomBatch has values in [0, 1), if tied on a grid of eighths.
func randomBatch(rng *rand.Rand, n, classes int, tied bool) *Matrix {
	m := &Matrix{Rows: n, Cols: n, V: make([]float64, n*n), SelfColumns: true}
	for range n {
		m.RowLabels = append(m.RowLabels, rng.IntN(classes))
	}
	m.ColLabels = m.RowLabels
	for k := range m.V {
		m.V[k] = rng.Float64()
		if tied {
			m.V[k] = math.Floor(8*m.V[k]) / 8
		}
	}
	return m
}
