package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// squares is a set of a program's own: 5 classes of 4 gray images, whose level says
// which one each is.
func squares(t *testing.T, version string, change func(*Images)) *Set {
	t.Helper()
	im := Images{
		Version: version,
		Image: func(_ context.Context, i int) (image.Image, error) {
			m := image.NewGray(image.Rect(0, 0, 8, 8))
			for k := range m.Pix {
				m.Pix[k] = uint8(10 * i)
			}
			return m, nil
		},
	}
	for i := range 20 {
		im.Labels = append(im.Labels, fmt.Sprintf("class %d", 12-i/4))
	}
	if change != nil {
		change(&im)
	}
	set, err := NewSet("squares", im)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestASetOfAProgramsOwn(t *testing.T) {
	ctx := t.Context()
	set := squares(t, "1", nil)
	if want := []string{"class 8", "class 9", "class 10", "class 11", "class 12"}; !slices.Equal(set.Classes, want) {
		t.Errorf("classes %q, want %q", set.Classes, want)
	}
	if it := set.Items[7]; it.Path != "07" || set.Classes[it.Label] != "class 11" || set.Where(7) != "squares!07" {
		t.Errorf("item 7 is %+v at %s", it, set.Where(7))
	}
	m, err := set.Load(ctx, 7)
	if err != nil || m.W != 8 || m.H != 8 || m.Pix[0] != 70 || m.Pix[191] != 70 {
		t.Fatalf("item 7: %v, %v", m, err)
	}
	train, test, err := Split(set, FirstHalf())
	if err != nil || len(train.Classes) != 3 || len(test.Classes) != 2 {
		t.Fatalf("split: %v", err)
	}
	// Class 8 has the last items: they come first of their part, as items are.
	if m, err := test.Load(ctx, 0); err != nil || m.Pix[0] != 0 {
		t.Errorf("the first test image: %v, %v", m, err)
	}
	fit, val, err := Fold(set, 1, 2)
	if err != nil || len(fit.Items) != 12 || len(val.Items) != 8 {
		t.Errorf("folds: %v", err)
	}
	r, err := CheckSet(ctx, set, CheckOptions{})
	if err != nil || !r.OK() || r.Images != 20 || r.MaxWidth != 8 || len(r.Bad) != 0 {
		t.Errorf("checked: %+v, %v", r, err)
	}
	pipeline, err := transform.Recipe{Size: 4, Stretch: true}.Eval(transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	loader, err := NewLoader(test, pipeline, LoaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for b, err := range loader.All(ctx, 3) {
		if err != nil {
			t.Fatal(err)
		}
		for k, item := range b.Items {
			want := float32(10*item) / 255
			if got := b.Images[k*pipeline.Size()]; got != want {
				t.Errorf("item %d is %v, want %v", item, got, want)
			}
			seen++
		}
	}
	if seen != 8 {
		t.Errorf("%d images", seen)
	}
}

func TestFingerprintAndHashOfASetOfAProgramsOwn(t *testing.T) {
	base := squares(t, "1", nil)
	for name, other := range map[string]*Set{
		"version": squares(t, "2", nil),
		"label":   squares(t, "1", func(im *Images) { im.Labels[3] = "class 9" }),
		"path": squares(t, "1", func(im *Images) {
			im.Paths = make([]string, 20)
			for i := range im.Paths {
				im.Paths[i] = fmt.Sprintf("image %02d", i)
			}
		}),
	} {
		if other.Fingerprint() == base.Fingerprint() {
			t.Errorf("another %s is not noticed", name)
		}
	}
	if squares(t, "1", nil).Fingerprint() != base.Fingerprint() {
		t.Error("the same set has another fingerprint")
	}
	darker := squares(t, "1", func(im *Images) {
		first := im.Image
		im.Image = func(ctx context.Context, i int) (image.Image, error) { return first(ctx, i/2) }
	})
	a, errA := base.Hash()
	b, errB := darker.Hash()
	if errA != nil || errB != nil || a == b {
		t.Errorf("hashes %s and %s, %v, %v", a, b, errA, errB)
	}
}

func TestFilesOfAProgramsOwnAreDecoded(t *testing.T) {
	var file bytes.Buffer
	m := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	m.SetNRGBA(0, 0, color.NRGBA{200, 100, 50, 255})
	if err := png.Encode(&file, m); err != nil {
		t.Fatal(err)
	}
	closed := 0
	set, err := NewSet("files", Images{
		Labels: []string{"a", "b"}, Paths: []string{"x", "y"}, Close: func() error { closed++; return nil },
		File: func(_ context.Context, i int) ([]byte, error) {
			if i == 1 {
				return nil, errors.New("the line is down")
			}
			return file.Bytes(), nil
		},
		Decode: pixels.Options{Alpha: pixels.AlphaWhite},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := set.Load(t.Context(), 0)
	if err != nil || !slices.Equal(got.Pix, []uint8{200, 100, 50, 255, 255, 255}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := set.Load(t.Context(), 1); err == nil || err.Error() != "image files!y: the line is down" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set.Load(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	if err := set.Close(); err != nil || closed != 1 {
		t.Errorf("closed %d times, %v", closed, err)
	}
}

// What Prepare keeps on a disk is known by the files that it was made from, of which
// a set of a program's own has none.
func TestASetOfAProgramsOwnIsNotKeptOnDisk(t *testing.T) {
	var loads atomic.Int64
	set := squares(t, "1", func(im *Images) {
		first := im.Image
		im.Image = func(ctx context.Context, i int) (image.Image, error) {
			loads.Add(1)
			return first(ctx, i)
		}
	})
	small, err := Prepare(t.Context(), set, PrepareOptions{Dir: t.TempDir(), Shorter: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, kept := small.Prepared(); kept || loads.Load() != 0 {
		t.Errorf("kept %v after %d loads", kept, loads.Load())
	}
	if m, err := small.Load(t.Context(), 3); err != nil || m.W != 4 || m.Pix[0] != 30 || loads.Load() != 1 {
		t.Errorf("%v, %v", m, err)
	}
}

func TestImagesThatMakeNoSetAreNamed(t *testing.T) {
	picture := func(context.Context, int) (image.Image, error) { return nil, nil }
	file := func(context.Context, int) ([]byte, error) { return nil, nil }
	for _, c := range []struct {
		name string
		of   Images
		want string
	}{
		{"", Images{}, "it has no name"},
		{"x", Images{}, "Images.Labels is empty"},
		{"x", Images{Labels: []string{"a"}}, "want one of Images.Image and Images.File"},
		{"x", Images{Labels: []string{"a"}, Image: picture, File: file}, "want one of Images.Image and Images.File"},
		{"x", Images{Labels: []string{"a", ""}, Image: picture}, "Images.Labels[1] is empty"},
		{"x", Images{Labels: []string{"a", "b"}, Paths: []string{"1"}, Image: picture}, "Images.Paths names 1 images, Images.Labels classes of 2"},
		{"x", Images{Labels: []string{"a"}, Paths: []string{""}, Image: picture}, "Images.Paths[0] is empty"},
	} {
		if _, err := NewSet(c.name, c.of); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q in it", err, c.want)
		}
	}
	set, err := NewSet("none", Images{Labels: []string{"a"}, Image: picture})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Load(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "returned no image") {
		t.Errorf("%v", err)
	}
}

// The zero value, a nil set, and items without images or with labels that no class has
// are errors with a sentence.
func TestSetsThatNobodyMadeAreErrors(t *testing.T) {
	ctx := t.Context()
	zero, bare, wrong := &Set{}, &Set{Items: []Item{{Path: "p"}}, Classes: []string{"a"}}, &Set{Items: []Item{{Label: 3}}, Classes: []string{"a"}}
	zero.Fingerprint()
	zero.ByClass()
	if zero.Close() != nil || len(zero.Remarks()) != 0 || len(zero.Labels()) != 0 || zero.Select("x", nil) == nil || zero.Where(0) == "" {
		t.Error("the zero set is not empty")
	}
	if _, ok := zero.Prepared(); ok {
		t.Error("the zero set is prepared")
	}
	pipeline, err := transform.Recipe{Size: 4}.Eval(transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]func(*Set) error{
		"load":         func(s *Set) error { _, err := s.Load(ctx, 0); return err },
		"hash":         func(s *Set) error { _, err := s.Hash(); return err },
		"loader":       func(s *Set) error { _, err := NewLoader(s, pipeline, LoaderOptions{}); return err },
		"balanced":     func(s *Set) error { _, err := NewBalanced(s, 1, 1, 1); return err },
		"random":       func(s *Set) error { _, err := NewRandom(s, 1, 1); return err },
		"hierarchical": func(s *Set) error { _, err := NewHierarchical(s, 1, 1, 1, 1); return err },
		"split":        func(s *Set) error { _, _, err := Split(s, FirstHalf()); return err },
		"fold":         func(s *Set) error { _, _, err := Fold(s, 1, 2); return err },
		"validation":   func(s *Set) error { _, _, err := Validation(s, .5, 1); return err },
		"check":        func(s *Set) error { _, err := CheckSet(ctx, s, CheckOptions{}); return err },
	}
	for name, use := range uses {
		if err := use(zero); err == nil && name != "hash" && name != "check" {
			t.Errorf("%s of the zero set is no error", name)
		}
		if err := use(wrong); name != "load" && (err == nil || !strings.Contains(err.Error(), "the data set: item 0 has label 3; labels run from 0 to less than 1")) {
			t.Errorf("%s of a wrong label: %v", name, err)
		}
		if err := use(nil); err == nil || !strings.Contains(err.Error(), "the data set is nil") {
			t.Errorf("%s of nil: %v", name, err)
		}
	}
	if err := uses["load"](bare); !errors.Is(err, errNoImages) {
		t.Errorf("without images: %v", err)
	}
	shrunk, err := Shrunk(bare, 4)
	if err != nil {
		t.Fatal(err)
	}
	if err := uses["load"](shrunk); !errors.Is(err, errNoImages) {
		t.Errorf("without images, shrunk: %v", err)
	}
	if _, err := NewLoader(bare, &transform.Pipeline{W: 4, H: 4}, LoaderOptions{}); err == nil || !strings.Contains(err.Error(), "want one that NewPipeline") {
		t.Errorf("a pipeline that nobody made: %v", err)
	}
	if _, err := NewLoader(bare, nil, LoaderOptions{}); err == nil || !strings.Contains(err.Error(), "want one that NewPipeline") {
		t.Errorf("no pipeline: %v", err)
	}
}
