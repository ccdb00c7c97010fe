package transform

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Flip mirrors left and right with probability P. It is wrong for characters.
type Flip struct{ P float64 }

// Apply mirrors or returns src.
func (t Flip) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if r.Float64() < t.P {
		return FlipH(src), nil
	}
	return src, nil
}

// Random is true.
func (t Flip) Random() bool { return true }

// RandomResizedCrop cuts a box of random area and aspect ratio and resizes it to
// W x H: "Inception" cropping, with torchvision's rules.
type RandomResizedCrop struct {
	W, H               int
	MinArea, MaxArea   float64 // share of the image
	MinRatio, MaxRatio float64 // width / height of the box; 0, 0 means 3/4, 4/3
	Filter             pixels.Filter
}

// Apply crops first; nothing outside the box enters the result.
func (t RandomResizedCrop) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	t, err := t.complete()
	if err != nil {
		return nil, err
	}
	a := t.Box(src.W, src.H, r)
	return t.Resize(src.Crop(a.Min.X, a.Min.Y, a.Dx(), a.Dy())), nil
}

// resize is what follows the crop.
func (t RandomResizedCrop) Resize(box *pixels.RGB) *pixels.RGB {
	return pixels.Resample(box, t.W, t.H, 0, 0, t.W, t.H, t.Filter)
}

// complete fills the usual ratios in and checks the settings.
func (t RandomResizedCrop) complete() (RandomResizedCrop, error) {
	if t.MinRatio == 0 && t.MaxRatio == 0 {
		t.MinRatio, t.MaxRatio = 3./4, 4./3
	}
	if t.W <= 0 || t.H <= 0 || !(t.MinArea > 0) || t.MaxArea < t.MinArea || !(t.MinRatio > 0) || t.MaxRatio < t.MinRatio {
		return t, fmt.Errorf("random resized crop: size %d x %d, area %g..%g, ratio %g..%g; they must be positive and in order",
			t.W, t.H, t.MinArea, t.MaxArea, t.MinRatio, t.MaxRatio)
	}
	return t, nil
}

// box draws a crop of an image of w x h pixels: ten tries, then fallback.
func (t RandomResizedCrop) Box(w, h int, r *rand.Rand) image.Rectangle {
	area := float64(w) * float64(h)
	for range 10 {
		target := area * between(r, t.MinArea, t.MaxArea)
		ratio := math.Exp(between(r, math.Log(t.MinRatio), math.Log(t.MaxRatio)))
		bw := int(math.RoundToEven(math.Sqrt(target * ratio)))
		bh := int(math.RoundToEven(math.Sqrt(target / ratio)))
		if bw > 0 && bh > 0 && bw <= w && bh <= h {
			at := image.Pt(r.IntN(w-bw+1), r.IntN(h-bh+1))
			return image.Rectangle{at, at.Add(image.Pt(bw, bh))}
		}
	}
	return t.fallback(w, h)
}

// fallback is the largest centered box with an allowed ratio.
func (t RandomResizedCrop) fallback(w, h int) image.Rectangle {
	bw, bh := w, h
	switch ratio := float64(w) / float64(h); {
	case ratio < t.MinRatio:
		bh = max(int(math.RoundToEven(float64(w)/t.MinRatio)), 1)
	case ratio > t.MaxRatio:
		bw = max(int(math.RoundToEven(float64(h)*t.MaxRatio)), 1)
	}
	at := image.Pt((w-bw)/2, (h-bh)/2)
	return image.Rectangle{at, at.Add(image.Pt(bw, bh))}
}

// Random is true.
func (t RandomResizedCrop) Random() bool { return true }

// RandomCrop cuts W x H pixels at a random place of the image, to which Pad
// pixels are added on every side (more where it is too small).
type RandomCrop struct {
	W, H, Pad int
	Fill      Fill
}

// Apply cuts, and fills what lies outside the image.
func (t RandomCrop) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if t.W <= 0 || t.H <= 0 || t.Pad < 0 {
		return nil, fmt.Errorf("random crop: size %d x %d, padding %d; sizes must be positive, padding not negative", t.W, t.H, t.Pad)
	}
	x := offset(r, src.W, t.W, t.Pad)
	y := offset(r, src.H, t.H, t.Pad)
	if x >= 0 && y >= 0 && x+t.W <= src.W && y+t.H <= src.H {
		return src.Crop(x, y, t.W, t.H), nil
	}
	dst := pixels.NewRGB(t.W, t.H)
	for dy := range t.H {
		row := dst.Row(dy)
		for dx := range t.W {
			c := t.Fill.at(src, x+dx, y+dy)
			copy(row[3*dx:3*dx+3], c[:])
		}
	}
	return dst, nil
}

// offset draws where a window of size n starts on an axis of the given size.
func offset(r *rand.Rand, size, n, pad int) int {
	pad = max(pad, (n-size+1)/2)
	return r.IntN(size+2*pad-n+1) - pad
}

// Random is true.
func (t RandomCrop) Random() bool { return true }

// Affine turns by up to Degrees either way, scales by MinScale..MaxScale and
// shifts by up to Shift (a share of the image's sides) on each axis, about the
// middle, with bilinear interpolation. The size stays.
type Affine struct {
	Degrees            float64
	MinScale, MaxScale float64 // 0, 0 means 1, 1
	Shift              float64
	Fill               Fill
}

// Apply draws angle, scale and shift uniformly.
func (t Affine) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if t.MinScale == 0 && t.MaxScale == 0 {
		t.MinScale, t.MaxScale = 1, 1
	}
	if t.Degrees < 0 || t.Shift < 0 || !(t.MinScale > 0) || t.MaxScale < t.MinScale {
		return nil, fmt.Errorf("affine: rotation %g, shift %g, scale %g..%g; rotation and shift must not be negative, scales positive and in order",
			t.Degrees, t.Shift, t.MinScale, t.MaxScale)
	}
	angle := between(r, -t.Degrees, t.Degrees) * math.Pi / 180
	scale := between(r, t.MinScale, t.MaxScale)
	dx := between(r, -t.Shift, t.Shift) * float64(src.W)
	dy := between(r, -t.Shift, t.Shift) * float64(src.H)
	return warp(src, angle, scale, dx, dy, t.Fill), nil
}

// Random is true.
func (t Affine) Random() bool { return true }

// warp looks every pixel of the result up in src, through the inverse map.
func warp(src *pixels.RGB, angle, scale, dx, dy float64, fill Fill) *pixels.RGB {
	sin, cos := math.Sincos(angle)
	sin, cos = sin/scale, cos/scale
	cx, cy := float64(src.W-1)/2, float64(src.H-1)/2
	dst := pixels.NewRGB(src.W, src.H)
	for y := range src.H {
		row := dst.Row(y)
		v := float64(y) - cy - dy
		for x := range src.W {
			u := float64(x) - cx - dx
			bilinearAt(row[3*x:3*x+3], src, cx+u*cos+v*sin, cy-u*sin+v*cos, fill)
		}
	}
	return dst
}

// bilinearAt interpolates src at (x, y); pixel centers have whole coordinates.
func bilinearAt(dst []uint8, src *pixels.RGB, x, y float64, fill Fill) {
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	fx, fy := float32(x-float64(x0)), float32(y-float64(y0))
	a, b := fill.at(src, x0, y0), fill.at(src, x0+1, y0)
	c, d := fill.at(src, x0, y0+1), fill.at(src, x0+1, y0+1)
	for i := range dst {
		top := float32(a[i]) + fx*(float32(b[i])-float32(a[i]))
		low := float32(c[i]) + fx*(float32(d[i])-float32(c[i]))
		dst[i] = uint8(top + fy*(low-top) + 0.5)
	}
}

// Fill says what lies beyond the border of an image.
type Fill uint8

const (
	// FillEdge repeats the border: no new edge appears, whatever the background.
	FillEdge Fill = iota
	FillBlack
	FillWhite
)

// at returns the pixel (x, y), inside or outside.
func (f Fill) at(m *pixels.RGB, x, y int) [3]uint8 {
	if x < 0 || y < 0 || x >= m.W || y >= m.H {
		switch f {
		case FillBlack:
			return [3]uint8{}
		case FillWhite:
			return [3]uint8{255, 255, 255}
		}
		x, y = min(max(x, 0), m.W-1), min(max(y, 0), m.H-1)
	}
	return [3]uint8(m.Pix[y*m.Stride+3*x:])
}

// between draws uniformly from [lo, hi).
func between(r *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }
