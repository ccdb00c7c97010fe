package transform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/disintegration/imaging"

	"github.com/vernier-ml/vernier/data/pixels"
)

// ColorJitter changes brightness, contrast, saturation and hue, in random order,
// with torchvision's ranges and Pillow's arithmetic. A strength s draws a factor
// from [max(0, 1-s), 1+s]; Hue draws a turn from [-Hue, Hue] of the circle.
type ColorJitter struct {
	Brightness, Contrast, Saturation float64
	Hue                              float64 // 0..0.5
}

// Apply changes what has a strength.
func (t ColorJitter) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if t.Brightness < 0 || t.Contrast < 0 || t.Saturation < 0 || t.Hue < 0 || t.Hue > 0.5 {
		return nil, fmt.Errorf("color jitter: brightness %g, contrast %g, saturation %g, hue %g; none may be negative, hue at most 0.5",
			t.Brightness, t.Contrast, t.Saturation, t.Hue)
	}
	dst := src.Clone()
	factor := func(s float64) float64 { return between(r, max(0, 1-s), 1+s) }
	for _, op := range r.Perm(4) {
		switch {
		case op == 0 && t.Brightness > 0:
			brightness(dst, factor(t.Brightness))
		case op == 1 && t.Contrast > 0:
			contrast(dst, factor(t.Contrast))
		case op == 2 && t.Saturation > 0:
			saturation(dst, factor(t.Saturation))
		case op == 3 && t.Hue > 0:
			turnHue(dst, between(r, -t.Hue, t.Hue))
		}
	}
	return dst, nil
}

// Random is true.
func (t ColorJitter) Random() bool { return true }

// blend is from + f*(to - from), cut off and not rounded.
func blend(from, to uint8, f float64) uint8 {
	return uint8(min(max(float64(from)+f*(float64(to)-float64(from)), 0), 255))
}

// luma is the gray of a pixel: ITU-R 601-2 in 16-bit fixed point.
func luma(p []uint8) uint8 {
	return uint8((uint32(p[0])*19595 + uint32(p[1])*38470 + uint32(p[2])*7471 + 1<<15) >> 16)
}

func brightness(m *pixels.RGB, f float64) { mapValues(m, 0, f) }

// contrast blends with the mean gray.
func contrast(m *pixels.RGB, f float64) {
	sum := 0
	for i := 0; i < len(m.Pix); i += 3 {
		sum += int(luma(m.Pix[i : i+3]))
	}
	mapValues(m, uint8(float64(sum)/float64(m.W*m.H)+0.5), f)
}

// mapValues blends every value with one level.
func mapValues(m *pixels.RGB, level uint8, f float64) {
	var table [256]uint8
	for v := range table {
		table[v] = blend(level, uint8(v), f)
	}
	for i, v := range m.Pix {
		m.Pix[i] = table[v]
	}
}

// saturation blends every pixel with its gray.
func saturation(m *pixels.RGB, f float64) {
	for i := 0; i < len(m.Pix); i += 3 {
		p := m.Pix[i : i+3]
		gray := luma(p)
		p[0], p[1], p[2] = blend(gray, p[0], f), blend(gray, p[1], f), blend(gray, p[2], f)
	}
}

// turnHue moves the hue by a part of the circle, in 8-bit HSV.
func turnHue(m *pixels.RGB, turn float64) {
	shift := uint8(int(turn * 255))
	for i := 0; i < len(m.Pix); i += 3 {
		p := m.Pix[i : i+3]
		h, s, v := toHSV(p)
		fromHSV(p, h+shift, s, v)
	}
}

func toHSV(p []uint8) (h, s, v uint8) {
	lo, hi := min(p[0], p[1], p[2]), max(p[0], p[1], p[2])
	if lo == hi {
		return 0, 0, hi
	}
	span := float64(hi - lo)
	rc, gc, bc := float64(hi-p[0])/span, float64(hi-p[1])/span, float64(hi-p[2])/span
	var angle float64 // in sixths
	switch hi {
	case p[0]:
		angle = bc - gc
	case p[1]:
		angle = 2 + rc - bc
	default:
		angle = 4 + gc - rc
	}
	return uint8(math.Mod(angle/6+1, 1) * 255), uint8(span / float64(hi) * 255), hi
}

func fromHSV(p []uint8, h, s, v uint8) {
	angle := float64(h) * 6 / 255
	sixth := math.Floor(angle)
	f, fs, fv := angle-sixth, float64(s)/255, float64(v)
	a := uint8(math.Round(fv * (1 - fs)))
	b := uint8(math.Round(fv * (1 - fs*f)))
	c := uint8(math.Round(fv * (1 - fs*(1-f))))
	switch int(sixth) % 6 {
	case 0:
		p[0], p[1], p[2] = v, c, a
	case 1:
		p[0], p[1], p[2] = b, v, a
	case 2:
		p[0], p[1], p[2] = a, v, c
	case 3:
		p[0], p[1], p[2] = a, b, v
	case 4:
		p[0], p[1], p[2] = c, a, v
	default:
		p[0], p[1], p[2] = v, a, b
	}
}

// Gray takes the color away with probability P.
type Gray struct{ P float64 }

// Apply replaces colors by their gray, or returns src.
func (t Gray) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if r.Float64() >= t.P {
		return src, nil
	}
	dst := src.Clone()
	for i := 0; i < len(dst.Pix); i += 3 {
		p := dst.Pix[i : i+3]
		gray := luma(p)
		p[0], p[1], p[2] = gray, gray, gray
	}
	return dst, nil
}

// Random is true.
func (t Gray) Random() bool { return true }

// Blur is a Gaussian blur with probability P and a standard deviation of
// MinSigma..MaxSigma pixels.
type Blur struct{ P, MinSigma, MaxSigma float64 }

// Apply blurs or returns src.
func (t Blur) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if !(t.MinSigma > 0) || t.MaxSigma < t.MinSigma {
		return nil, fmt.Errorf("blur: sigma %g..%g; both must be positive and in order", t.MinSigma, t.MaxSigma)
	}
	if r.Float64() >= t.P {
		return src, nil
	}
	out := imaging.Blur(src, between(r, t.MinSigma, t.MaxSigma))
	return pixels.FromImage(out, pixels.Options{MaxPixels: math.MaxInt64})
}

// Random is true.
func (t Blur) Random() bool { return true }
