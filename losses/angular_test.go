package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// The reference leaves negatives at their own length: the matrix is that of dot
// products of raw rows.
func goldenAngular(t *testing.T, c *golden.Case) {
	x, labels := batchInputs(c)
	r, dx := onBatch(t, &Angular{AlphaDegrees: c.Params.Float("alpha_degrees", 0), RawNegatives: true}, dot, x, labels, false)
	check64(t, c, r, dx)
}

// On unit rows it does not matter how negatives are measured.
func TestAngularFormsAgreeOnUnitRows(t *testing.T) {
	for _, s := range situations(euclidean) {
		unit, du := onBatch(t, &Angular{AlphaDegrees: 40}, dot, s.x, s.labels, true)
		raw, dr := onBatch(t, &Angular{AlphaDegrees: 40, RawNegatives: true}, dot, s.x, s.labels, true)
		if math.Abs(unit.Value-raw.Value) > 1e-12*(1+unit.Value) {
			t.Errorf("%s: %v with cosines, %v with lengths", s.name, unit.Value, raw.Value)
		}
		for k := range du.x {
			if math.Abs(du.x[k]-dr.x[k]) > 1e-12*(1+math.Abs(du.x[k])) {
				t.Errorf("%s: gradient %v with cosines, %v with lengths", s.name, du.x[k], dr.x[k])
			}
		}
	}
}
