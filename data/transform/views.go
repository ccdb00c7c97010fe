package transform

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
)

// CropCounts are the numbers of crops that evaluation can look at: the middle alone, the
// corners and the middle, and these with their mirror images.
func CropCounts() []int { return []int{1, 5, 10} }

// Crops is Shorter to Size, followed by crops of W x H pixels in the order of torchvision's
// FiveCrop and TenCrop: top left, top right, bottom left, bottom right, middle, and of ten
// their mirror images in the same order. They are put below each other: W x N H pixels.
type Crops struct {
	N, Size, W, H int
	Filter        pixels.Filter
}

// Apply is torchvision's Resize(Size), FiveCrop((H, W)) or TenCrop.
func (t Crops) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.W <= 0 || t.H <= 0 || t.Size < max(t.W, t.H) || !slices.Contains(CropCounts()[1:], t.N) {
		return nil, fmt.Errorf("crops: %d of %d x %d pixels out of a shorter side of %d; want 5 or 10, and no side below theirs", t.N, t.W, t.H, t.Size)
	}
	whole, err := Shorter{Size: t.Size, Filter: t.Filter}.Apply(src, nil)
	if err != nil {
		return nil, err
	}
	right, bottom := whole.W-t.W, whole.H-t.H
	dst := pixels.NewRGB(t.W, t.N*t.H)
	for i, at := range [][2]int{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}, {halfEven(right), halfEven(bottom)}} {
		crop := whole.Crop(at[0], at[1], t.W, t.H)
		put(dst, i*t.H, crop)
		if t.N == 10 {
			put(dst, (5+i)*t.H, FlipH(crop))
		}
	}
	return dst, nil
}

// put copies a picture into the rows of another from a row on.
func put(dst *pixels.RGB, from int, src *pixels.RGB) {
	for y := range src.H {
		copy(dst.Row(from+y), src.Row(y)[:3*src.W])
	}
}

// Random is false.
func (t Crops) Random() bool { return false }

// EvalCrops returns the pipeline of evaluation on one of CropCounts: pictures of crops below
// each other, whose numbers are those of one crop after the other.
func (r Recipe) EvalCrops(n int, norm Normalization) (*Pipeline, error) {
	switch {
	case n <= 1:
		return r.Eval(norm)
	case r.Stretch || r.Resize <= r.Size:
		return nil, fmt.Errorf("%d crops of %d pixels: a picture has to be larger, and its shorter side is brought to %d", n, r.Size, max(r.Resize, r.Size))
	}
	p, err := NewPipeline(r.Size, n*r.Size, norm, Crops{n, r.Resize, r.Size, r.Size, r.Filter})
	if err != nil {
		return nil, err
	}
	p.views = n
	return p, nil
}
