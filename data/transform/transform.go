package transform

import (
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Step makes an image of another. It never changes src; it may return src
// or a view of it. Random ones take all their draws from r, the others leave r
// alone (it may then be nil).
type Step interface {
	Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error)
	// Random says whether the result depends on r.
	Random() bool
}

// Stretch resizes to exactly W x H pixels, whatever the aspect ratio.
type Stretch struct {
	W, H   int
	Filter pixels.Filter
}

// Apply is Pillow's resize((W, H)).
func (t Stretch) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.W <= 0 || t.H <= 0 {
		return nil, fmt.Errorf("stretch: size %d x %d, it must be positive", t.W, t.H)
	}
	return pixels.Resample(src, t.W, t.H, 0, 0, t.W, t.H, t.Filter), nil
}

// Random is false.
func (t Stretch) Random() bool { return false }

// shorterSize returns the size whose shorter side is n; the longer one is
// rounded down, as torchvision's Resize(n) does.
func ShorterSize(w, h, n int) (int, int) {
	if w < h {
		return n, int(int64(n) * int64(h) / int64(w))
	}
	return int(int64(n) * int64(w) / int64(h)), n
}

// Shorter resizes so that the shorter side has Size pixels.
type Shorter struct {
	Size   int
	Filter pixels.Filter
	// MaxPixels bounds the result (a picture of 1 x 10,000 grows
	// considerably); 0 means DefaultMaxPixels.
	MaxPixels int64
}

// Apply is torchvision's Resize(Size).
func (t Shorter) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.Size <= 0 {
		return nil, fmt.Errorf("resize: shorter side %d, it must be positive", t.Size)
	}
	w, h := ShorterSize(src.W, src.H, t.Size)
	limit := pixels.Options{MaxPixels: t.MaxPixels}.PixelLimit()
	if int64(w) > limit/int64(h) {
		return nil, fmt.Errorf("resize: %w: %d x %d would become %d x %d pixels", pixels.ErrTooLarge, src.W, src.H, w, h)
	}
	return pixels.Resample(src, w, h, 0, 0, w, h, t.Filter), nil
}

// Random is false.
func (t Shorter) Random() bool { return false }

// Shrink is Shorter for images whose shorter side is larger than Size; others
// stay as they are.
type Shrink struct {
	Size   int
	Filter pixels.Filter
}

// Apply resizes or returns src.
func (t Shrink) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.Size <= 0 {
		return nil, fmt.Errorf("shrink: shorter side %d, it must be positive", t.Size)
	}
	if min(src.W, src.H) <= t.Size {
		return src, nil
	}
	w, h := ShorterSize(src.W, src.H, t.Size)
	return pixels.Resample(src, w, h, 0, 0, w, h, t.Filter), nil
}

// Random is false.
func (t Shrink) Random() bool { return false }

// ShorterCrop is Shorter followed by CenterCrop of W x H, to the bit, but
// computes no more than the crop.
type ShorterCrop struct {
	Size, W, H int
	Filter     pixels.Filter
}

// Apply is torchvision's Resize(Size), CenterCrop((H, W)).
func (t ShorterCrop) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.Size <= 0 || t.W <= 0 || t.H <= 0 {
		return nil, fmt.Errorf("resize and crop: sizes %d, %d x %d, they must be positive", t.Size, t.W, t.H)
	}
	w, h := ShorterSize(src.W, src.H, t.Size)
	cw, ch := min(t.W, w), min(t.H, h)
	part := pixels.Resample(src, w, h, halfEven(w-cw), halfEven(h-ch), cw, ch, t.Filter)
	return centerCrop(part, t.W, t.H), nil
}

// Random is false.
func (t ShorterCrop) Random() bool { return false }

// CenterCrop cuts W x H pixels from the middle; what a smaller image lacks is
// black.
type CenterCrop struct{ W, H int }

// Apply is torchvision's CenterCrop((H, W)).
func (t CenterCrop) Apply(src *pixels.RGB, _ *rand.Rand) (*pixels.RGB, error) {
	if t.W <= 0 || t.H <= 0 {
		return nil, fmt.Errorf("center crop: size %d x %d, it must be positive", t.W, t.H)
	}
	return centerCrop(src, t.W, t.H), nil
}

// Random is false.
func (t CenterCrop) Random() bool { return false }

// halfEven is n/2 rounded to the nearest, halves to even.
func halfEven(n int) int { return (n + n>>1&1) / 2 }

func centerCrop(src *pixels.RGB, w, h int) *pixels.RGB {
	cw, ch := min(w, src.W), min(h, src.H)
	if cw == w && ch == h {
		return src.Crop(halfEven(src.W-w), halfEven(src.H-h), w, h)
	}
	// Both axes are padded first where needed, then cropped.
	dst := pixels.NewRGB(w, h)
	x, y := (w-cw)/2, (h-ch)/2
	for row := range ch {
		from := src.Row(halfEven(src.H-ch) + row)[3*halfEven(src.W-cw):]
		copy(dst.Row(y + row)[3*x:], from[:3*cw])
	}
	return dst
}

// FlipH mirrors left and right.
func FlipH(src *pixels.RGB) *pixels.RGB {
	dst := pixels.NewRGB(src.W, src.H)
	for y := range src.H {
		in, out := src.Row(y), dst.Row(y)
		for i, j := 0, len(in)-3; j >= 0; i, j = i+3, j-3 {
			out[i], out[i+1], out[i+2] = in[j], in[j+1], in[j+2]
		}
	}
	return dst
}
