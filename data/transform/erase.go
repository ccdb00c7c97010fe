package transform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Erase paints over a box of random area and aspect ratio with probability P
// (Zhong et al. 2020, random erasing).
type Erase struct {
	P                  float64
	MinArea, MaxArea   float64 // share of the image; 0, 0 means 0.02, 0.33
	MinRatio, MaxRatio float64 // width / height; 0, 0 means 0.3, 3.3
	Color              [3]uint8
}

// Apply paints or returns src; ten boxes are tried for one that fits.
func (t Erase) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if t.MinArea == 0 && t.MaxArea == 0 {
		t.MinArea, t.MaxArea = 0.02, 0.33
	}
	if t.MinRatio == 0 && t.MaxRatio == 0 {
		t.MinRatio, t.MaxRatio = 0.3, 3.3
	}
	if !(t.MinArea > 0) || t.MaxArea < t.MinArea || !(t.MinRatio > 0) || t.MaxRatio < t.MinRatio {
		return nil, fmt.Errorf("erasing: area %g..%g, ratio %g..%g; they must be positive and in order", t.MinArea, t.MaxArea, t.MinRatio, t.MaxRatio)
	}
	if r.Float64() >= t.P {
		return src, nil
	}
	for range 10 {
		area := float64(src.W*src.H) * between(r, t.MinArea, t.MaxArea)
		ratio := math.Exp(between(r, math.Log(t.MinRatio), math.Log(t.MaxRatio)))
		w, h := int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if w < 1 || h < 1 || w >= src.W || h >= src.H {
			continue
		}
		dst := src.Clone()
		box := dst.Crop(r.IntN(src.W-w+1), r.IntN(src.H-h+1), w, h)
		for y := range h {
			row := box.Row(y)
			for x := 0; x < len(row); x += 3 {
				copy(row[x:x+3], t.Color[:])
			}
		}
		return dst, nil
	}
	return src, nil
}

// Random is true.
func (t Erase) Random() bool { return true }
