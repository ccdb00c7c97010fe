package transform

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
)

func TestSolarizeInvertsFromItsThresholdOn(t *testing.T) {
	src := &pixels.RGB{W: 2, H: 1, Stride: 6, Pix: []uint8{0, 127, 128, 200, 255, 64}}
	r := rand.New(rand.NewPCG(1, 42))
	for _, c := range []struct {
		step Solarize
		want []uint8
	}{ // by hand: 255 - v from the threshold on
		{Solarize{P: 1}, []uint8{0, 127, 127, 55, 0, 64}},
		{Solarize{P: 1, Threshold: 64}, []uint8{0, 128, 127, 55, 0, 191}},
		{Solarize{}, []uint8{0, 127, 128, 200, 255, 64}},
	} {
		m, err := c.step.Apply(src, r)
		if err != nil || !bytes.Equal(m.Pix, c.want) {
			t.Errorf("%+v: %v, want %v (%v)", c.step, m.Pix, c.want, err)
		}
	}
	if src.Pix[2] != 128 {
		t.Error("the source was changed")
	}
}

func TestAStepIsAppliedAtItsRate(t *testing.T) {
	src, r, changed := noisy(4, 4, 1), rand.New(rand.NewPCG(3, 42)), 0
	for range 2000 {
		m, err := Sometimes{0.8, Gray{1}}.Apply(src, r)
		if err != nil {
			t.Fatal(err)
		}
		if m != src {
			changed++
		}
	}
	if got := float64(changed) / 2000; math.Abs(got-0.8) > 0.03 {
		t.Errorf("rate %.3f, want 0.8", got)
	}
	if _, err := (Sometimes{P: 1}).Apply(src, r); err == nil {
		t.Error("no step is accepted")
	}
}

// The constants of SimCLR (Chen et al. 2020, App. A, strength 1), of MoCo v2 (its code) and
// of BYOL (Grill et al. 2020, Table 6), at the 224 pixels that they are stated for.
func TestRecipesOfViewsHaveTheirAuthorsConstants(t *testing.T) {
	crop := func(least float64, f pixels.Filter) Step {
		return RandomResizedCrop{W: 224, H: 224, MinArea: least, MaxArea: 1, Filter: f}
	}
	byol := func(blur, solarize float64) []Step {
		return []Step{crop(.08, pixels.Bicubic), Flip{.5}, Sometimes{.8, ColorJitter{.4, .4, .2, .1}}, Gray{.2}, Blur{blur, .1, 2}, Solarize{P: solarize}}
	}
	for name, want := range map[string][][]Step{
		SimCLR: {{crop(.08, pixels.Bicubic), Flip{.5}, Sometimes{.8, ColorJitter{.8, .8, .8, .2}}, Gray{.2}, Blur{.5, .1, 2}}},
		MoCoV2: {{crop(.2, pixels.Bilinear), Sometimes{.8, ColorJitter{.4, .4, .4, .1}}, Gray{.2}, Blur{.5, .1, 2}, Flip{.5}}},
		BYOL:   {byol(1, 0), byol(.1, .2)},
	} {
		p, err := Recipe{Size: 224, Resize: 256}.Augmented(name, ImageNet())
		if err != nil {
			t.Fatal(err)
		}
		for view := range 4 {
			if got := p.View(view).Steps; !reflect.DeepEqual(got, want[view%len(want)]) {
				t.Errorf("%s, view %d: %+v, want %+v", name, view, got, want[view%len(want)])
			}
		}
		if !reflect.DeepEqual(p.Steps, want[0]) {
			t.Errorf("%s: the pipeline is not that of the first view", name)
		}
	}
	p, err := Recipe{Size: 56}.Augmented(SimCLR, ImageNet())
	if err != nil {
		t.Fatal(err)
	}
	if b := p.Steps[4].(Blur); b != (Blur{.5, .1, .5}) {
		t.Errorf("a blur of 56 pixels is %+v, want a quarter of that of 224", b)
	}
}

// Drawn characters are not mirrored, and keep strokes in every view.
func TestViewsOfDrawnCharactersKeepStrokes(t *testing.T) {
	for _, side := range []int{28, 105} {
		src := pixels.NewRGB(side, side)
		for i := range src.Pix {
			src.Pix[i] = 255
		}
		for y := side / 4; y < 3*side/4; y++ { // a cross of dark strokes
			for _, p := range [][2]int{{side / 2, y}, {y, side / 2}} {
				copy(src.Row(p[1])[3*p[0]:], []uint8{0, 0, 0})
			}
		}
		p, err := Recipe{Size: 28}.Augmented(Strokes, Symmetric())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Steps {
			if _, mirrors := s.(Flip); mirrors {
				t.Error("characters are mirrored")
			}
		}
		r := rand.New(rand.NewPCG(5, 42))
		for i := range 200 {
			m, err := p.Image(src, r)
			if err != nil {
				t.Fatal(err)
			}
			lo, hi := uint8(255), uint8(0)
			for _, v := range m.Compact().Pix {
				lo, hi = min(lo, v), max(hi, v)
			}
			if hi-lo < 30 {
				t.Fatalf("%d px, view %d: values %d to %d, nothing is left of the strokes", side, i, lo, hi)
			}
		}
	}
}
