package float16

import (
	"math"
	"testing"
)

// Values of IEEE 754-2019, table 3.5.
func TestHalfPrecisionRoundsToTheNearest(t *testing.T) {
	for _, c := range []struct {
		v    float32
		want uint16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff}, {1.0 / 3, 0x3555},
		{0x1p-14, 0x0400}, {0x1p-24, 0x0001}, {0x1p-25, 0}, {0x1.8p-25, 1}, {0x1.ff8p-15, 0x03ff}, {0x1.ffcp-15, 0x0400},
		{1 + 0x1p-11, 0x3c00}, {1 + 0x3p-11, 0x3c02}, {1 + 0x1.8p-11, 0x3c01}, {2 - 0x1p-12, 0x4000}, {0x1.ffffp-15, 0x0400},
	} {
		if got := Round(c.v); got != c.want {
			t.Errorf("%v is %#04x, want %#04x", c.v, got, c.want)
		}
	}
	for h := range 1 << 16 {
		v := Float32(uint16(h))
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		if back := Round(v); back != uint16(h) {
			t.Fatalf("%#04x is %v, which becomes %#04x", h, v, back)
		}
	}
}
