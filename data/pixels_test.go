package data

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/transform"
)

// The numbers of a batch are those of its pixels: whatever the pipeline does, it
// does to 8-bit pixels, and normalization comes last.
func TestNumbersAreTheTableOfThePixels(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 1, 6, 5).folder(t))
	s, err := NewBalanced(set, 3, 3, 11)
	if err != nil {
		t.Fatal(err)
	}
	everything := transform.Recipe{Size: 8, MinArea: .3, MaxArea: 1, Degrees: 20, MinScale: .9, MaxScale: 1.1, Shift: .1, Pad: 2, Flip: true,
		Jitter: .4, Gray: .3, Blur: .5, Erase: .5}
	for name, norm := range map[string]transform.Normalization{"unit": transform.UnitRange(), "symmetric": transform.Symmetric(), "imagenet": transform.ImageNet(), "caffe": transform.Caffe()} {
		p, err := everything.Train(norm)
		if err != nil {
			t.Fatal(err)
		}
		table, reverse := norm.Bytes()
		if reverse != norm.BGR {
			t.Errorf("%s: channels reversed is %v", name, reverse)
		}
		want := collect(t, mustLoader(t, set, p, LoaderOptions{Seed: 5}), s, 1, 0)
		seen := 0
		for b, err := range mustLoader(t, set, p, LoaderOptions{Seed: 5, Pixels: true}).Epoch(t.Context(), s, 1, 0) {
			if err != nil {
				t.Fatal(err)
			}
			w := want[seen]
			if b.Images != nil || len(b.Pixels) != len(w.Images) || b.Shape != w.Shape || !slices.Equal(b.Items, w.Items) {
				t.Fatalf("%s: batch %d has %d pixels of items %v and shape %v; want %d of %v and %v", name, seen, len(b.Pixels), b.Items, b.Shape, len(w.Images), w.Items, w.Shape)
			}
			area := b.Shape[2] * b.Shape[3]
			for i, v := range b.Pixels {
				image, at, c := i/(3*area), i/3%area, i%3
				if reverse {
					c = 2 - c
				}
				if got := table[c][v]; got != w.Images[(image*3+c)*area+at] {
					t.Fatalf("%s: batch %d: byte %d is %d and stands for %v, want %v", name, seen, i, v, got, w.Images[(image*3+c)*area+at])
				}
			}
			b.Recycle()
			seen++
		}
		if seen != len(want) {
			t.Errorf("%s: %d batches, want %d", name, seen, len(want))
		}
	}
}

// A picture that is left out leaves no gap among pixels either.
func TestPixelsOfImagesThatCannotBeReadAreLeftOut(t *testing.T) {
	root := classes(t, []string{"a", "b"}, 1, 4, 4).folder(t)
	set := mustOpen(t, "folder:"+root)
	bad := set.Where(1)
	if !filepath.IsAbs(bad) {
		bad = filepath.Join(root, bad)
	}
	if err := os.WriteFile(bad, []byte("no picture"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := testPipeline(t, false)
	kept := 0
	for b, err := range mustLoader(t, set, p, LoaderOptions{MaxBad: 1, Pixels: true}).All(t.Context(), 3) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Pixels) != len(b.Items)*p.Size() || slices.Contains(b.Items, 1) {
			t.Errorf("%d pixels of items %v", len(b.Pixels), b.Items)
		}
		for k, item := range b.Items {
			m, err := set.Load(t.Context(), item)
			if err != nil {
				t.Fatal(err)
			}
			if m, err = p.Image(m, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(b.Pixels[k*p.Size():(k+1)*p.Size()], m.Compact().Pix) {
				t.Errorf("item %d has the pixels of another", item)
			}
		}
		kept += len(b.Items)
	}
	if kept != len(set.Items)-1 {
		t.Errorf("%d of %d images", kept, len(set.Items))
	}
}

func TestFeaturesHaveNoPixels(t *testing.T) {
	f := &Features{Path: "the features' file"}
	if _, err := NewFeatureLoader(&Set{}, f, false, LoaderOptions{Pixels: true}); err == nil || !strings.Contains(err.Error(), "the features' file holds numbers") {
		t.Errorf("got %v", err)
	}
}
