package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/vernier-ml/vernier/metric"
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
			for _, metric := range []metric.Metric{euclidean, brm, {Kind: metric.Cosine}} {
				m := batch(metric, x, labels)
				all := 0
				for name, miner := range map[string]TripletMiner{
					"all": AllWithin(math.Inf(1)), "within": AllWithin(0.2 * scale), "hard": Hard(scale), "semihard": SemiHard(scale),
					"easy window": Easy(0.2 * scale), "batch-hard": BatchHard{}, "nearest-semihard": NearestSemiHard{},
					"easy-positive": EasyHard{Positive: Easiest, Negative: JustBeyond}, "easy": EasyHard{Easiest, Easiest},
					"semihard positive": EasyHard{Positive: JustBeyond}, "uniform": Uniform{PerAnchor: 3, Seed: 1},
					"distance-weighted": DistanceWeighted{Dim: 3, Nearest: 0.5, Farthest: 1.4, Sphere: AsSphere(metric, 1)},
					"angular":           AngularMiner{AboveDegrees: 20, Squared: AsSquared(metric, 1)},
					"at most":           AtMost{Miner: SemiHard(scale), PerAnchor: 2},
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
		for _, w := range []Window{AllWithin(math.Inf(1)), AllWithin(margin), Hard(margin), SemiHard(margin), Easy(0.125), {Above: -0.125, UpTo: 0.125}} {
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

// Both hardest is batch-hard; distances by hand for the other choices.
func TestEasyAndHardChoices(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	for trial := range 30 {
		m := randomBatch(rng, 12, 4, trial%2 == 0)
		var a, b Triplets
		if err := (EasyHard{}).Mine(m, &a); err != nil {
			t.Fatal(err)
		}
		if err := (BatchHard{}).Mine(m, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("hardest both ways %v, batch-hard %v", a, b)
		}
	}
	// Row 0: positives at .5, .2, .7; negatives at .1, .3, .6, .9.
	m := &Matrix{
		Rows: 1, Cols: 7, V: []float64{0.5, 0.2, 0.7, 0.1, 0.3, 0.6, 0.9},
		RowLabels: []int{0}, ColLabels: []int{0, 0, 0, 1, 1, 2, 2},
	}
	for _, c := range []struct {
		miner EasyHard
		p, q  int
	}{
		{EasyHard{Hardest, Hardest}, 2, 3},
		{EasyHard{Easiest, Easiest}, 1, 6},
		{EasyHard{Easiest, JustBeyond}, 1, 4},  // nearest negative beyond .2 is .3
		{EasyHard{Hardest, JustBeyond}, 2, 6},  // beyond .7: .9
		{EasyHard{JustBeyond, Easiest}, 2, 6},  // farthest positive within .9: .7
		{EasyHard{JustBeyond, Hardest}, -1, 0}, // within .1: none
	} {
		var got, want Triplets
		if err := c.miner.Mine(m, &got); err != nil {
			t.Fatal(err)
		}
		if c.p >= 0 {
			want.add(0, c.p, c.q)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: %v, want %v", c.miner, got, want)
		}
	}
	if err := (EasyHard{JustBeyond, JustBeyond}).Mine(m, &Triplets{}); err == nil {
		t.Error("each just beyond the other means nothing")
	}
}

func TestPairMarginKeepsWhatViolatesIt(t *testing.T) {
	var got Pairs
	if err := (PairMargin{PosMargin: 0.3, NegMargin: 0.6}).Mine(workedBatch(), &got); err != nil {
		t.Fatal(err)
	}
	// Positives .2 and .4, negatives .9, .6, .5, .8.
	want := Pairs{PosAnchor: []int{2, 3}, Positive: []int{3, 2}, NegAnchor: []int{1, 2}, Negative: []int{2, 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// An equilateral triangle: the angle at the negative is 30 degrees, since
// tan = 1/(2*sqrt(3)/2).
func TestAngularMinerMeasuresTheAngle(t *testing.T) {
	x := rowsOf{[]float64{0, 0, 1, 0, 0.5, math.Sqrt(3) / 2}, 3, 2}
	m := batch(squared, x, []int{0, 0, 1})
	for degrees, want := range map[float64]int{29.9: 2, 30.1: 0} {
		var mined Triplets
		if err := (AngularMiner{AboveDegrees: degrees}).Mine(m, &mined); err != nil {
			t.Fatal(err)
		}
		if mined.Len() != want {
			t.Errorf("above %v degrees: %d triplets, want %d", degrees, mined.Len(), want)
		}
	}
}

// Draws depend on the seed and the batch, not on earlier draws, and are spread as
// said.
func TestDrawsRepeatAndHaveTheirChances(t *testing.T) {
	// One anchor with a positive and negatives at .6, 1 and 1.3 on the sphere.
	m := &Matrix{Rows: 1, Cols: 4, V: []float64{0.3, 0.6, 1, 1.3}, RowLabels: []int{0}, ColLabels: []int{0, 1, 1, 2}}
	const draws = 20000
	weighted := map[int]float64{}
	even := map[int]float64{}
	total := 0.0
	for j, r := range m.V[1:] { // dimension 5: 1/(r^3 (1-r^2/4))
		weighted[j+1] = 1 / (r * r * r * (1 - r*r/4))
		total += weighted[j+1]
		even[j+1] = 1.0 / 3
	}
	for j := range weighted {
		weighted[j] /= total
	}
	for name, c := range map[string]struct {
		miner func(seed uint64) TripletMiner
		want  map[int]float64
	}{
		"distance-weighted": {func(seed uint64) TripletMiner {
			return DistanceWeighted{Dim: 5, Nearest: 0.5, Farthest: 1.4, Seed: seed}
		}, weighted},
		"uniform": {func(seed uint64) TripletMiner { return Uniform{PerAnchor: 1, Seed: seed} }, even},
		"at most": {func(seed uint64) TripletMiner {
			return AtMost{Miner: AllWithin(9), PerAnchor: 1, Seed: seed}
		}, even},
	} {
		got := map[int]float64{}
		for seed := range uint64(draws) {
			var mined, again Triplets
			for _, out := range []*Triplets{&mined, &again} {
				if err := c.miner(seed).Mine(m, out); err != nil {
					t.Fatal(err)
				}
			}
			if mined.Len() != 1 || !reflect.DeepEqual(mined, again) {
				t.Fatalf("%s: drew %v, then %v", name, mined, again)
			}
			got[mined.Negative[0]] += 1.0 / draws
		}
		for j, want := range c.want {
			if math.Abs(got[j]-want) > 4*math.Sqrt(want*(1-want)/draws) {
				t.Errorf("%s: negative %d drawn in %v of cases, want %v", name, j, got[j], want)
			}
		}
	}
}
