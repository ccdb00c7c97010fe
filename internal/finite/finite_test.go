package finite

import (
	"math"
	"testing"
)

func TestIs(t *testing.T) {
	for x, want := range map[float64]bool{0: true, -math.MaxFloat64: true, math.SmallestNonzeroFloat64: true, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false} {
		if got := Is(x); got != want {
			t.Errorf("%v is finite: %v", x, got)
		}
	}
}
