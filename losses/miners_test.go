package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// Whatever the scale of the embeddings, every mined triplet has a positive of
// the anchor's label that is another item, and a negative of another label.
func TestMinedTripletsAreTripletsAtAnyScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 76))
	for _, scale := range []float64{1e-6, 1e-3, 1, 1e3, 1e6} {
		for trial := range 20 {
			n := 2 + rng.IntN(20)
			x := rowsOf{make([]float64, n*3), n, 3}
			labels := make([]int, n)
			for i := range labels {
				labels[i] = rng.IntN(1 + rng.IntN(n))
				for k := range 3 {
					// Rounded, so that equal distances are frequent.
					x.row(i)[k] = scale * math.Round(3*rng.NormFloat64()) / 3
				}
			}
			for _, metric := range []layers.Metric{euclidean, brm, {Kind: layers.Cosine}} {
				m := batch(metric, x, labels)
				all := 0
				for name, miner := range map[string]TripletMiner{
					"all": AllWithin(math.Inf(1)), "within": AllWithin(0.2 * scale), "hard": Hard(scale), "semihard": SemiHard(scale),
					"easy": Easy(0.2 * scale), "batch-hard": BatchHard{}, "nearest-semihard": NearestSemiHard{},
				} {
					var mined Triplets
					if err := miner.Mine(m, &mined); err != nil {
						t.Fatal(err)
					}
					if name == "all" {
						all = mined.Len()
					}
					for k, a := range mined.Anchor {
						p, q := mined.Positive[k], mined.Negative[k]
						if labels[a] != labels[p] || a == p || labels[a] == labels[q] {
							t.Fatalf("%s, scale %g, trial %d on %v: triplet (%d, %d, %d) of labels %d, %d, %d", name, scale, trial, metric, a, p, q, labels[a], labels[p], labels[q])
						}
					}
				}
				if want := countTriplets(labels); all != want {
					t.Fatalf("%d triplets in all, want %d", all, want)
				}
			}
		}
	}
}

func countTriplets(labels []int) int {
	n := 0
	for a := range labels {
		for p := range labels {
			for q := range labels {
				if a != p && labels[a] == labels[p] && labels[a] != labels[q] {
					n++
				}
			}
		}
	}
	return n
}

// The loss that sorts agrees with the loss that lists, for every window and
// reduction, also on ties.
func TestSortedTripletsAgreeWithListedOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for trial := range 60 {
		n := 3 + rng.IntN(25)
		m := &Matrix{Rows: n, Cols: n, V: make([]float64, n*n), RowLabels: make([]int, n), SelfColumns: true, Similarity: trial%3 == 0}
		for i := range m.RowLabels {
			m.RowLabels[i] = rng.IntN(1 + trial%5)
		}
		m.ColLabels = m.RowLabels
		for k := range m.V {
			m.V[k] = rng.Float64()
			if trial%2 == 0 {
				m.V[k] = math.Round(8*m.V[k]) / 8 // exact ties, exact differences
			}
		}
		margin := 0.25
		for _, w := range []Window{AllWithin(math.Inf(1)), AllWithin(margin), Hard(margin), SemiHard(margin), Easy(0.125), {Above: 0.125, UpTo: -0.125}} {
			for _, reduction := range []Reduction{MeanNonZero, MeanAll, PerAnchor} {
				a, b := make([]float64, n*n), make([]float64, n*n)
				sorted, err := (&Triplet{Margin: margin, Window: &w, Reduction: reduction}).Eval(m, a)
				if err != nil {
					t.Fatal(err)
				}
				listed, err := (&Triplet{Margin: margin, Miner: w, Reduction: reduction}).Eval(m, b)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(sorted.Value-listed.Value) > 1e-13 || sorted.Active != listed.Active || sorted.Total != listed.Total {
					t.Fatalf("trial %d, window %v, reduction %d: sorted %+v, listed %+v", trial, w, reduction, sorted, listed)
				}
				for k := range a {
					if math.Abs(a[k]-b[k]) > 1e-13 {
						t.Fatalf("trial %d, window %v: gradient %d is %v sorted, %v listed", trial, w, k, a[k], b[k])
					}
				}
			}
		}
	}
}

// A batch in which nothing is active: exactly 0, no NaN, no 1e12.
func TestNothingActiveIsExactlyZero(t *testing.T) {
	far := []float64{ // two tight classes, far apart
		0, 1e-9, 5, 5,
		1e-9, 0, 5, 5,
		5, 5, 0, 1e-9,
		5, 5, 1e-9, 0,
	}
	for name, labels := range map[string][]int{"separated": {0, 0, 1, 1}, "no positives": {0, 1, 2, 3}} {
		m := &Matrix{Rows: 4, Cols: 4, V: far, RowLabels: labels, ColLabels: labels, SelfColumns: true}
		for _, reduction := range []Reduction{MeanNonZero, MeanAll, PerAnchor} {
			for _, l := range []Loss{
				&Contrastive{U: 0.1, V: 0, Reduction: reduction},
				&Contrastive{U: 0.1, V: 0, Joint: true, Squared: true, Reduction: reduction},
				&Triplet{Margin: 0.1, Reduction: reduction},
				&Triplet{Margin: 0.1, Swap: true, Reduction: reduction},
				&Triplet{Margin: 0.1, Miner: BatchHard{}, Reduction: reduction},
				&Triplet{Margin: 0.1, Miner: Hard(0.1), Reduction: reduction},
			} {
				grad := make([]float64, 16)
				for k := range grad {
					grad[k] = 7
				}
				r, err := l.Eval(m, grad)
				if err != nil {
					t.Fatal(err)
				}
				if r.Value != 0 || r.Active != 0 || fmt.Sprint(grad) != fmt.Sprint(make([]float64, 16)) {
					t.Errorf("%s: %T, reduction %d: %+v, gradient %v", name, l, reduction, r, grad)
				}
			}
		}
	}
}
