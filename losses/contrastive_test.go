package losses

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenContrastive(t *testing.T, c *golden.Case) {
	l := &Contrastive{
		U: c.Params.Float("pos_margin", 0), V: c.Params.Float("neg_margin", 1),
		Reduction: reductionOf(t, c),
	}
	x, labels := batchInputs(c)
	r, dx := onBatch(t, l, distanceOf(c), x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}

// Distances of four rows in two classes, from which worked numbers follow.
func workedBatch() *Matrix {
	labels := []int{0, 0, 1, 1}
	return &Matrix{
		Rows: 4, Cols: 4, RowLabels: labels, ColLabels: labels, SelfColumns: true,
		V: []float64{
			0, 0.2, 0.9, 0.6,
			0.2, 0, 0.5, 0.8,
			0.9, 0.5, 0, 0.4,
			0.6, 0.8, 0.4, 0,
		},
	}
}

// u = .3, v = .7. Positives .2 and .4: one is beyond u, by .1. Negatives .9, .6, .5, .8:
// two are below v, by .1 and .2. Each pair counts in both orders.
func TestContrastiveByHand(t *testing.T) {
	for _, c := range []struct {
		loss          Contrastive
		value         float64
		active, total int
	}{
		{Contrastive{Squared: true}, 0.01 + (0.01+0.04)/2, 6, 12},
		{Contrastive{}, 0.1 + (0.1+0.2)/2, 6, 12},
		{Contrastive{Reduction: MeanAll}, 0.1/2 + (0.1+0.2)/4, 6, 12},
		{Contrastive{Reduction: MeanAll, Joint: true}, (0.1 + 0.1 + 0.2) / 6, 6, 12},
		{Contrastive{Joint: true}, (0.1 + 0.1 + 0.2) / 3, 6, 12},
		// Rows 2 and 3 have an active positive; rows 0 to 3 have one active
		// negative each: .1, .2, .2, .1.
		{Contrastive{Reduction: PerAnchor}, 0.1 + 0.15, 6, 12},
		// Row means: .1, .2, (.1+.2)/2, (.1+.1)/2.
		{Contrastive{Reduction: PerAnchor, Joint: true}, (0.1 + 0.2 + 0.15 + 0.1) / 4, 6, 12},
	} {
		l := c.loss
		l.U, l.V = 0.3, 0.7
		r, err := l.Eval(workedBatch(), make([]float64, 16))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Value-c.value) > 1e-15 || r.Active != c.active || r.Total != c.total {
			t.Errorf("%+v, want %v of %d among %d", r, c.value, c.active, c.total)
		}
	}
}

// Squared hinges have slopes 2*.1/2 for each order of the positive pair (2,3), and
// -2*.1/4, -2*.2/4 for the negative pairs (0,3) and (1,2).
func TestContrastiveGradientByHand(t *testing.T) {
	grad := make([]float64, 16)
	if _, err := (&Contrastive{U: 0.3, V: 0.7, Squared: true}).Eval(workedBatch(), grad); err != nil {
		t.Fatal(err)
	}
	want := []float64{
		0, 0, 0, -0.05,
		0, 0, -0.1, 0,
		0, -0.1, 0, 0.1,
		-0.05, 0, 0.1, 0,
	}
	if !slices.EqualFunc(grad, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
		t.Errorf("gradient %v, want %v", grad, want)
	}
}
