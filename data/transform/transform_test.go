package transform

import (
	"bytes"
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
)

func TestShorterCropEqualsResizeThenCrop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 42))
	for range 40 {
		src := noisy(1+r.IntN(50), 1+r.IntN(50), r.Uint64())
		size, w, h, f := 1+r.IntN(40), 1+r.IntN(40), 1+r.IntN(40), pixels.Filter(r.IntN(2))
		want := mustApply(t, CenterCrop{w, h}, mustApply(t, Shorter{Size: size, Filter: f}, src)).Compact()
		got := mustApply(t, ShorterCrop{size, w, h, f}, src).Compact()
		if got.W != w || got.H != h || !bytes.Equal(got.Pix, want.Pix) {
			t.Fatalf("%d x %d to %d, crop %d x %d, %v: differs", src.W, src.H, size, w, h, f)
		}
	}
}

func TestNothingOutsideACropEntersItsResult(t *testing.T) {
	src := noisy(30, 20, 1)
	view := src.Crop(5, 4, 11, 9)
	copied := pixels.NewRGB(11, 9)
	for y := range 9 {
		copy(copied.Row(y), view.Row(y))
	}
	for _, f := range []pixels.Filter{pixels.Bilinear, pixels.Bicubic} {
		a, b := mustApply(t, Stretch{24, 31, f}, view), mustApply(t, Stretch{24, 31, f}, copied)
		if !bytes.Equal(a.Pix, b.Pix) {
			t.Errorf("%v: the surroundings of a crop leak in", f)
		}
	}
}

func TestOnePixelImageBecomesAnySize(t *testing.T) {
	src := &pixels.RGB{W: 1, H: 1, Stride: 3, Pix: []uint8{7, 80, 255}}
	for _, tr := range []Step{
		Stretch{9, 5, pixels.Bilinear}, Stretch{9, 5, pixels.Bicubic}, ShorterCrop{12, 9, 5, pixels.Bicubic},
		RandomResizedCrop{W: 9, H: 5, MinArea: 0.1, MaxArea: 1}, RandomCrop{W: 9, H: 5}, RandomCrop{W: 9, H: 5, Pad: 2},
	} {
		m, err := tr.Apply(src, rand.New(rand.NewPCG(1, 42)))
		if err != nil {
			t.Fatalf("%T: %v", tr, err)
		}
		if m.W != 9 || m.H != 5 {
			t.Errorf("%T: %d x %d", tr, m.W, m.H)
		}
		if m = m.Compact(); !bytes.Equal(m.Pix, bytes.Repeat(src.Pix, 45)) {
			t.Errorf("%T: the color changes", tr)
		}
	}
}

func TestShrinkOnlyMakesSmaller(t *testing.T) {
	large, small := noisy(50, 40, 1), noisy(20, 90, 1)
	if m := mustApply(t, Shrink{Size: 20}, large); m.W != 25 || m.H != 20 {
		t.Errorf("%d x %d, want 25 x 20", m.W, m.H)
	}
	if m := mustApply(t, Shrink{Size: 20}, small); m != small {
		t.Error("a small image is changed")
	}
}

func TestThinImageIsNotBlownUp(t *testing.T) {
	thin := pixels.NewRGB(1, 400_000)
	if _, err := (Shorter{Size: 256}).Apply(thin, nil); !errors.Is(err, pixels.ErrTooLarge) {
		t.Errorf("1 x 400,000 to 256 x 102,400,000: %v", err)
	}
	if m := mustApply(t, ShorterCrop{256, 224, 224, pixels.Bilinear}, thin); m.W != 224 || m.H != 224 {
		t.Errorf("crop of it: %d x %d", m.W, m.H)
	}
}

func TestResizeKeepsAConstantImage(t *testing.T) {
	src := pixels.NewRGB(13, 17)
	for i := range src.Pix {
		src.Pix[i] = []uint8{0, 131, 255}[i%3]
	}
	for _, f := range []pixels.Filter{pixels.Bilinear, pixels.Bicubic} {
		for size := 1; size < 40; size += 3 {
			m := mustApply(t, Stretch{size, 41 - size, f}, src)
			for i, v := range m.Pix {
				if v != []uint8{0, 131, 255}[i%3] {
					t.Fatalf("%v to %d x %d: byte %d is %d", f, m.W, m.H, i, v)
				}
			}
		}
	}
}

func TestTransformsLeaveTheirSourceAlone(t *testing.T) {
	src := noisy(20, 16, 1)
	before := bytes.Clone(src.Pix)
	r := rand.New(rand.NewPCG(2, 42))
	for range 5 {
		for _, tr := range []Step{
			Stretch{20, 16, pixels.Bilinear}, Stretch{10, 30, pixels.Bicubic}, Shorter{Size: 16}, CenterCrop{8, 8}, ShorterCrop{16, 12, 12, pixels.Bilinear},
			Flip{1}, RandomResizedCrop{W: 8, H: 8, MinArea: 0.2, MaxArea: 1}, RandomCrop{20, 16, 3, FillWhite},
			Affine{Degrees: 20, MinScale: 0.5, MaxScale: 2, Shift: 0.2},
		} {
			if _, err := tr.Apply(src, r); err != nil {
				t.Fatalf("%T: %v", tr, err)
			}
		}
	}
	if !bytes.Equal(src.Pix, before) {
		t.Error("a transform changed its source")
	}
}

func TestRandomResizedCropKeepsAreaAndRatio(t *testing.T) {
	crop := RandomResizedCrop{MinArea: 0.2, MaxArea: 0.7, MinRatio: 0.5, MaxRatio: 3}
	r := rand.New(rand.NewPCG(8, 42))
	const w, h = 200, 160
	var areas, ratios []float64
	for range 3000 {
		box := crop.Box(w, h, r)
		if box.Empty() || !box.In(image.Rect(0, 0, w, h)) {
			t.Fatalf("box %v", box)
		}
		bw, bh := box.Dx(), box.Dy()
		areas, ratios = append(areas, float64(bw*bh)/(w*h)), append(ratios, float64(bw)/float64(bh))
	}
	for _, c := range []struct {
		values []float64
		lo, hi float64
	}{{areas, 0.2, 0.7}, {ratios, 0.5, 3}} {
		lo, hi := slices.Min(c.values), slices.Max(c.values)
		if lo < c.lo*0.95 || hi > c.hi*1.05 || lo > c.lo*1.1 || hi < c.hi*0.8 {
			t.Errorf("drawn %g..%g, want %g..%g", lo, hi, c.lo, c.hi)
		}
	}
}

func TestRandomCropReachesEveryPlaceOnce(t *testing.T) {
	src := noisy(6, 5, 1)
	seen := map[string]bool{}
	r := rand.New(rand.NewPCG(1, 42))
	for range 2000 {
		m, err := RandomCrop{W: 6, H: 5, Pad: 2}.Apply(src, r)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(m.Compact().Pix)] = true
	}
	if len(seen) != 25 {
		t.Errorf("%d different shifts, want 5 x 5", len(seen))
	}
}

func TestFlipIsItsOwnInverseAndHappensAtItsRate(t *testing.T) {
	src := noisy(7, 4, 1)
	if !bytes.Equal(FlipH(FlipH(src)).Pix, src.Pix) {
		t.Error("twice mirrored differs")
	}
	r, flips := rand.New(rand.NewPCG(4, 42)), 0
	for range 4000 {
		m, err := Flip{0.25}.Apply(src, r)
		if err != nil {
			t.Fatal(err)
		}
		if m != src {
			flips++
		}
	}
	if flips < 900 || flips > 1100 {
		t.Errorf("%d of 4000 mirrored, want about 1000", flips)
	}
}

func TestAffineTurnsScalesAndShiftsAboutTheMiddle(t *testing.T) {
	src := noisy(9, 9, 1)
	if m := warp(src, 0, 1, 0, 0, FillEdge); !bytes.Equal(m.Pix, src.Pix) {
		t.Error("no change changes the image")
	}
	quarter := warp(src, math.Pi/2, 1, 0, 0, FillEdge)
	shifted := warp(src, 0, 1, 2, -1, FillBlack)
	for y := range 9 {
		for x := range 9 {
			if quarter.At(x, y) != src.At(y, 8-x) {
				t.Fatalf("quarter turn clockwise: pixel (%d, %d) differs", x, y)
			}
			want := FillBlack.at(src, x-2, y+1)
			if got := FillBlack.at(shifted, x, y); got != want {
				t.Fatalf("shift: pixel (%d, %d) is %v, want %v", x, y, got, want)
			}
		}
	}
	// Twice the size: the middle stays, its neighbors are half-way to theirs.
	double := warp(src, 0, 2, 0, 0, FillEdge)
	if double.At(4, 4) != src.At(4, 4) || double.At(6, 2) != src.At(5, 3) {
		t.Error("scaling is not about the middle")
	}
	for fill, want := range map[Fill]uint8{FillBlack: 0, FillWhite: 255} {
		if m := warp(src, 0, 1, 20, 0, fill); m.Pix[0] != want {
			t.Errorf("fill %d: %d", fill, m.Pix[0])
		}
	}
}

func TestNumbersFollowTheNormalization(t *testing.T) {
	m := &pixels.RGB{W: 2, H: 1, Stride: 6, Pix: []uint8{10, 20, 30, 40, 50, 60}}
	for _, c := range []struct {
		norm Normalization
		want []float64 // (3, 1, 2)
	}{
		{UnitRange(), []float64{10. / 255, 40. / 255, 20. / 255, 50. / 255, 30. / 255, 60. / 255}},
		{Caffe(), []float64{30 - 104, 60 - 104, 20 - 117, 50 - 117, 10 - 128, 40 - 128}},
		{Symmetric(), []float64{20./255 - 1, 80./255 - 1, 40./255 - 1, 100./255 - 1, 60./255 - 1, 120./255 - 1}},
	} {
		p, err := NewPipeline(2, 1, c.norm, CenterCrop{2, 1})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, p.Size())
		p.Numbers(got, m)
		for i, want := range c.want {
			if math.Abs(float64(got[i])-want) > 1e-6 {
				t.Errorf("%+v: %v, want %v", c.norm, got, c.want)
				break
			}
		}
	}
}

func TestWrongSettingsAreErrors(t *testing.T) {
	src := noisy(4, 4, 1)
	for _, tr := range []Step{
		Stretch{0, 4, pixels.Bilinear}, Shorter{}, Shrink{}, ShorterCrop{4, 4, -1, pixels.Bilinear}, CenterCrop{}, RandomCrop{W: 4, H: 4, Pad: -1},
		RandomResizedCrop{W: 4, H: 4}, RandomResizedCrop{W: 4, H: 4, MinArea: 1, MaxArea: 0.5}, RandomResizedCrop{W: 4, H: 4, MinArea: 0.1, MaxArea: 1, MinRatio: 2, MaxRatio: 1},
		Affine{Degrees: -1}, Affine{MinScale: 2, MaxScale: 1}, Affine{MinScale: -1, MaxScale: 1},
	} {
		if _, err := tr.Apply(src, rand.New(rand.NewPCG(1, 42))); err == nil {
			t.Errorf("%#v is accepted", tr)
		}
	}
	for name, make := range map[string]func() (*Pipeline, error){
		"no size":  func() (*Pipeline, error) { return NewPipeline(0, 4, UnitRange(), CenterCrop{4, 4}) },
		"no steps": func() (*Pipeline, error) { return NewPipeline(4, 4, UnitRange()) },
		"no range": func() (*Pipeline, error) { return NewPipeline(4, 4, Normalization{}, CenterCrop{4, 4}) },
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	p, err := NewPipeline(4, 4, UnitRange(), CenterCrop{3, 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Image(src, nil); err == nil || !strings.Contains(err.Error(), "3 x 3 pixels, not 4 x 4") {
		t.Errorf("steps of another size: %v", err)
	}
}

func TestPresetsGiveTheirSizeAndCharactersAreNeverMirrored(t *testing.T) {
	src := noisy(50, 40, 1)
	for _, name := range PresetNames() {
		recipe, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if recipe.Flip && name == "characters" {
			t.Error("characters are mirrored")
		}
		all := recipe.WithSize(20)
		all.Jitter, all.Gray, all.Blur, all.Erase, all.Degrees, all.Pad = 0.4, 0.2, 1, 1, 5, 2
		for _, r := range []Recipe{recipe, recipe.WithSize(40), all} {
			for _, build := range []func(Normalization) (*Pipeline, error){r.Train, r.Eval} {
				p, err := build(ImageNet())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if m, err := p.Image(src, rand.New(rand.NewPCG(1, 42))); err != nil || m.W != r.Size || m.H != r.Size {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if r, _ := Preset("pa"); r.WithSize(112).Resize != 128 {
		t.Errorf("pa at 112: %+v", r.WithSize(112))
	}
	if _, err := Preset("x"); err == nil || !strings.Contains(err.Error(), "characters, photos, pa") {
		t.Errorf("unknown preset: %v", err)
	}
}
