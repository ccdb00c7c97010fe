package transform

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Expected values are worked by hand from Pillow's rules: blend cuts off, the
// mean gray is rounded.
func TestColorChangesFollowTheirFormulas(t *testing.T) {
	pixels := func(v ...uint8) *pixels.RGB { return &pixels.RGB{W: len(v) / 3, H: 1, Stride: len(v), Pix: v} }
	m := pixels(10, 100, 200, 255, 0, 7)
	brightness(m, 1.5)
	if want := []uint8{15, 150, 255, 255, 0, 10}; !bytes.Equal(m.Pix, want) {
		t.Errorf("brightness: %v, want %v", m.Pix, want)
	}
	m = pixels(10, 10, 10, 100, 100, 100) // mean 55
	contrast(m, 0.5)
	if want := []uint8{32, 32, 32, 77, 77, 77}; !bytes.Equal(m.Pix, want) {
		t.Errorf("contrast: %v, want %v", m.Pix, want)
	}
	m = pixels(200, 100, 50) // gray 0.299*200 + 0.587*100 + 0.114*50 = 124.2
	saturation(m, 0)
	if want := []uint8{124, 124, 124}; !bytes.Equal(m.Pix, want) {
		t.Errorf("saturation: %v, want %v", m.Pix, want)
	}
	m = pixels(255, 0, 0, 90, 90, 90)
	turnHue(m, 1./3)
	if want := []uint8{0, 255, 0, 90, 90, 90}; !bytes.Equal(m.Pix, want) {
		t.Errorf("hue: %v, want %v", m.Pix, want)
	}
}

func TestHSVRoundTripStaysClose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 42))
	for range 5000 {
		p := []uint8{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256))}
		q := bytes.Clone(p)
		h, s, v := toHSV(q)
		fromHSV(q, h, s, v)
		for c := range p {
			// 8 bits of hue are 255/6 steps a sixth of the circle.
			if math.Abs(float64(p[c])-float64(q[c])) > 8 {
				t.Fatalf("%v comes back as %v", p, q)
			}
		}
	}
}

func TestColorAugmentationHappensAtItsRateAndStaysInRange(t *testing.T) {
	src := noisy(12, 10, 1)
	before := bytes.Clone(src.Pix)
	for _, c := range []struct {
		name string
		tr   Step
		rate float64
	}{
		{"gray", Gray{0.3}, 0.3}, {"blur", Blur{0.3, 0.5, 2}, 0.3}, {"erase", Erase{P: 0.3}, 0.3},
		{"jitter", ColorJitter{0.4, 0.4, 0.4, 0.1}, 1},
	} {
		r, changed := rand.New(rand.NewPCG(3, 42)), 0
		for range 1000 {
			m, err := c.tr.Apply(src, r)
			if err != nil {
				t.Fatal(err)
			}
			if m.W != src.W || m.H != src.H {
				t.Fatalf("%s: %d x %d", c.name, m.W, m.H)
			}
			if m != src {
				changed++
			}
		}
		if got := float64(changed) / 1000; math.Abs(got-c.rate) > 0.06 {
			t.Errorf("%s: rate %.3f, want %.1f", c.name, got, c.rate)
		}
	}
	if !bytes.Equal(src.Pix, before) {
		t.Error("the source was changed")
	}
}

func TestBlurKeepsTheMeanAndErasePaintsABox(t *testing.T) {
	src := smoothed(30, 30, 1)
	blurred, err := Blur{1, 1, 1}.Apply(src, rand.New(rand.NewPCG(1, 42)))
	if err != nil {
		t.Fatal(err)
	}
	mean := func(m *pixels.RGB) float64 {
		s := 0.0
		for _, v := range m.Pix {
			s += float64(v)
		}
		return s / float64(len(m.Pix))
	}
	if math.Abs(mean(src)-mean(blurred)) > 1 || bytes.Equal(src.Pix, blurred.Pix) {
		t.Errorf("mean %.2f before, %.2f after", mean(src), mean(blurred))
	}
	erased, err := Erase{P: 1, Color: [3]uint8{1, 2, 3}}.Apply(src, rand.New(rand.NewPCG(1, 42)))
	if err != nil {
		t.Fatal(err)
	}
	x0, y0, x1, y1, painted := 99, 99, -1, -1, 0
	for y := range 30 {
		for x := range 30 {
			if p := erased.Row(y)[3*x : 3*x+3]; !bytes.Equal(p, src.Row(y)[3*x:3*x+3]) {
				if !bytes.Equal(p, []uint8{1, 2, 3}) {
					t.Fatalf("pixel (%d, %d) is %v", x, y, p)
				}
				x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
				painted++
			}
		}
	}
	if share := float64(painted) / 900; painted != (x1-x0+1)*(y1-y0+1) || share < 0.015 || share > 0.36 {
		t.Errorf("%d pixels painted in a box of %d x %d", painted, x1-x0+1, y1-y0+1)
	}
}

func TestWrongColorSettingsAreErrors(t *testing.T) {
	src := noisy(4, 4, 1)
	for _, tr := range []Step{
		ColorJitter{Brightness: -1}, ColorJitter{Hue: 0.6}, Blur{P: 1}, Blur{1, 2, 1}, Erase{P: 1, MinArea: 0.5, MaxArea: 0.1}, Erase{P: 1, MinRatio: 3, MaxRatio: 1},
	} {
		if _, err := tr.Apply(src, rand.New(rand.NewPCG(1, 42))); err == nil {
			t.Errorf("%#v is accepted", tr)
		}
	}
}
