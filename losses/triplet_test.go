package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenTriplet(t *testing.T, c *golden.Case) {
	l := &Triplet{
		Margin: c.Params.Float("margin", 0),
		Swap:   c.Params.Bool("swap", false), Smooth: c.Params.Bool("smooth", false),
		Reduction: reductionOf(t, c),
	}
	x, labels := batchInputs(c)
	r, dx := onBatch(t, l, distanceOf(c), x, labels, c.Params.Bool("normalize", true))
	check64(t, c, r, dx)
}

// Margin .25: of eight triplets (2,3,1) and (3,2,0) are violated, by .4-.5+.25 and
// .4-.6+.25.
func TestTripletByHand(t *testing.T) {
	for _, c := range []struct {
		loss   Triplet
		value  float64
		active int
	}{
		{Triplet{}, (0.15 + 0.05) / 2, 2},
		{Triplet{Reduction: MeanAll}, (0.15 + 0.05) / 8, 2},
		{Triplet{Reduction: PerAnchor}, (0.15 + 0.05) / 2, 2},
		// (a,p,q) with D(p,q) in place of a farther D(a,q): (0,1,2) .2-.5+.25 < 0,
		// (1,0,3) .2-.6+.25 < 0, (2,3,0) .4-.6+.25, (3,2,1) .4-.5+.25.
		{Triplet{Swap: true}, (0.15 + 0.05 + 0.05 + 0.15) / 4, 4},
		{Triplet{Miner: BatchHard{}}, (0.15 + 0.05) / 2, 2},
	} {
		l := c.loss
		l.Margin = 0.25
		r, err := l.Eval(workedBatch(), make([]float64, 16))
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Value-c.value) > 1e-15 || r.Active != c.active {
			t.Errorf("%+v, want %v of %d", r, c.value, c.active)
		}
	}
}
