package transform_test

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// places is a picture whose pixels say where they are.
func places(w, h int) *pixels.RGB {
	m := pixels.NewRGB(w, h)
	for y := range h {
		for x := range w {
			copy(m.Row(y)[3*x:], []uint8{uint8(x), uint8(y), 7})
		}
	}
	return m
}

// Corners, middle and mirror images are those of torchvision's ten_crop, whose middle is
// rounded to even: (h - 8) / 2 of 17 is 4.5, and begins at 4.
func TestCropsAreTheCornersTheMiddleAndTheirMirrorImages(t *testing.T) {
	const side = 8
	src := places(20, 17)
	got, err := transform.Crops{N: 10, Size: 17, W: side, H: side}.Apply(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.W != side || got.H != 10*side {
		t.Fatalf("%d x %d pixels, want %d x %d", got.W, got.H, side, 10*side)
	}
	for i, at := range [][2]int{{0, 0}, {12, 0}, {0, 9}, {12, 9}, {6, 4}} {
		for y := range side {
			for x := range side {
				want := []uint8{uint8(at[0] + x), uint8(at[1] + y), 7}
				if p := got.Row(i*side + y)[3*x : 3*x+3]; !slices.Equal(p, want) {
					t.Fatalf("crop %d, place (%d, %d): %v, want %v", i, x, y, p, want)
				}
				if p := got.Row((5+i)*side + y)[3*(side-1-x):][:3]; !slices.Equal(p, want) {
					t.Fatalf("mirror image of crop %d, place (%d, %d): %v, want %v", i, x, y, p, want)
				}
			}
		}
	}
	if five, err := (transform.Crops{N: 5, Size: 17, W: side, H: side}).Apply(src, nil); err != nil || !slices.Equal(five.Row(5*side - 1)[:3*side], got.Row(5*side - 1)[:3*side]) || five.H != 5*side {
		t.Errorf("five of them differ: %v", err)
	}
	if _, err := (transform.Crops{N: 3, Size: 17, W: side, H: side}).Apply(src, nil); err == nil {
		t.Error("three crops are none of torchvision's")
	}
}

// The numbers of crops are those of one crop after the other, the middle one as evaluation
// without further crops has it.
func TestNumbersOfCropsFollowEachOther(t *testing.T) {
	r := transform.Recipe{Size: 8, Resize: 12}
	single, err := r.EvalCrops(0, transform.ImageNet())
	if err != nil {
		t.Fatal(err)
	}
	five, err := r.EvalCrops(5, transform.Normalization{Range: 255, Mean: transform.ImageNet().Mean, Std: transform.ImageNet().Std})
	if err != nil {
		t.Fatal(err)
	}
	src := places(40, 31)
	numbers := func(p *transform.Pipeline) []float32 {
		m, err := p.Image(src, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, p.Size())
		p.Numbers(x, m)
		return x
	}
	one, all := numbers(single), numbers(five)
	if len(all) != 5*len(one) {
		t.Fatalf("%d numbers, want 5 times %d", len(all), len(one))
	}
	if !slices.Equal(all[4*len(one):], one) {
		t.Error("the middle differs")
	}
	if slices.Equal(all[:len(one)], one) {
		t.Error("the first crop is the middle")
	}
	for _, r := range []transform.Recipe{{Size: 8}, {Size: 8, Resize: 8}, {Size: 8, Resize: 12, Stretch: true}} {
		if _, err := r.EvalCrops(5, transform.UnitRange()); err == nil {
			t.Errorf("%+v has no room for crops", r)
		}
	}
}
