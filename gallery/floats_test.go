package gallery

import (
	"math"
	"testing"
)

func TestNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	finite := []float32{0, -0, 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}
	if i := notFinite(finite); i != -1 {
		t.Errorf("%v: number %d is not finite", finite, i)
	}
	for _, bad := range []float32{nan, -nan, inf, -inf, math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff)} {
		if i := notFinite([]float32{1, 2, bad, inf}); i != 2 {
			t.Errorf("%v: place %d, want 2", bad, i)
		}
	}
}
