package data

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// viewLoader loads views of the images of a set without labels.
func viewLoader(t *testing.T, set *Set, o LoaderOptions) *Loader {
	t.Helper()
	p, err := transform.Recipe{Size: 8}.Augmented(transform.BYOL, transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	o.Seed = 5
	return mustLoader(t, set, p, o)
}

// Without labels an epoch has views of every image, each image once (the last batch is
// filled up), which differ, and are the same for any number of workers and of shares.
func TestViewsOfAnEpochDependOnNeitherWorkersNorShares(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 4, 5, 2).folder(t)).Instances()
	const images, views = 4, 3
	s, err := NewBalanced(set, images, views, 11)
	if err != nil {
		t.Fatal(err)
	}
	if s.Batches() != 3 {
		t.Fatalf("%d batches of %d of 11 images, want 3", s.Batches(), images)
	}
	want := collect(t, viewLoader(t, set, LoaderOptions{Workers: 1, CacheBytes: -1}), s, 2, 0)
	seen := make([]int, len(set.Items))
	size := 3 * 8 * 8
	for _, b := range want {
		if !slices.Equal(b.Items, b.Labels) {
			t.Errorf("items %v have labels %v, want their own numbers", b.Items, b.Labels)
		}
		for k := 0; k < len(b.Items); k += views {
			seen[b.Items[k]]++
			for v := 1; v < views; v++ {
				if b.Items[k+v] != b.Items[k] {
					t.Errorf("items %v: views do not stand beside each other", b.Items)
				}
				if at := (k + v) * size; slices.Equal(b.Images[k*size:(k+1)*size], b.Images[at:at+size]) {
					t.Errorf("view %d of item %d is its first", v, b.Items[k])
				}
			}
		}
	}
	if slices.Min(seen) != 1 || slices.Max(seen) > 2 {
		t.Errorf("images come %v times in an epoch", seen)
	}
	for _, workers := range []int{2, 7} {
		l := viewLoader(t, set, LoaderOptions{Workers: workers})
		for range 2 { // the second time from the cache
			if got := collect(t, l, s, 2, 0); !reflect.DeepEqual(got, want) {
				t.Errorf("%d workers: other views", workers)
			}
		}
	}
	for _, ranks := range []int{2, 4} {
		for rank := range ranks {
			share := func(n int) (int, int) { return n * rank / ranks, n * (rank + 1) / ranks }
			for i, b := range collect(t, viewLoader(t, set, LoaderOptions{Share: share}), s, 2, 0) {
				from, to := share(images * views)
				if w := want[i]; !slices.Equal(b.Images, w.Images[from*size:to*size]) || !slices.Equal(b.Items, w.Items[from:to]) {
					t.Errorf("rank %d of %d: other views in batch %d", rank, ranks, i)
				}
			}
		}
	}
	if other := collect(t, viewLoader(t, set, LoaderOptions{}), s, 3, 0); slices.Equal(other[0].Images, want[0].Images) {
		t.Error("another epoch, the same views")
	}
}

// An image that cannot be read gives its place to the next one, whose views have its label.
func TestABadImageWithoutLabelsIsReplacedByTheNext(t *testing.T) {
	f := classes(t, []string{"a"}, 5)
	bad := slices.Sorted(func(yield func(string) bool) {
		for name := range f {
			if !yield(name) {
				return
			}
		}
	})[2]
	f[bad] = []byte("no image")
	set := mustOpen(t, "folder:"+f.folder(t)).Instances()
	s, err := NewBalanced(set, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := viewLoader(t, set, LoaderOptions{MaxBad: 1})
	b := collect(t, l, s, 0, 0)[0]
	if !slices.Equal(b.Items, b.Labels) {
		t.Errorf("items %v have labels %v", b.Items, b.Labels)
	}
	of := map[int]int{}
	for _, i := range b.Items {
		of[i]++
	}
	if !reflect.DeepEqual(of, map[int]int{0: 2, 1: 2, 3: 4, 4: 2}) {
		t.Errorf("items %v, want views of 3 in place of 2", of)
	}
}

func TestAFolderWithoutFoldersHasNoLabels(t *testing.T) {
	f := files{}
	for name, png := range classes(t, []string{"a"}, 6) {
		f[strings.TrimPrefix(name, "a/")] = png
	}
	spec := "folder:" + f.folder(t)
	set := mustOpen(t, spec)
	if !set.Unlabeled || len(set.Items) != 6 || !slices.Equal(set.Classes, []string{Unlabeled}) {
		t.Errorf("%d images of %q, unlabeled: %v", len(set.Items), set.Classes, set.Unlabeled)
	}
	if _, _, err := Split(set, FirstHalf()); err == nil || !strings.Contains(err.Error(), "6 images are in no folders of classes") {
		t.Errorf("a split by class: %v", err)
	}
	r, err := Check(t.Context(), spec, CheckOptions{})
	if err != nil || len(r.Problems) > 0 || !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "they have no labels") }) {
		t.Errorf("a check says %q, %q, %v", r.Problems, r.Warnings, err)
	}
	if _, held, err := HoldOut(set.Instances(), 0.5, 3, func(item int) bool { return item > 2 }); err != nil || len(held.Items) != 3 {
		t.Errorf("%v: %d images are held out, want the 3 that may be", err, len(held.Items))
	}
	if _, _, err := HoldOut(set.Instances(), 0.5, 3, func(item int) bool { return item > 0 }); err == nil || !strings.Contains(err.Error(), "1 images may be held out to measure on, at least 2 are needed") {
		t.Errorf("%v", err)
	}
	rest, held, err := HoldOut(set.Instances(), 0.1, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rest.Items) != 4 || len(held.Items) != 2 || len(held.Classes) != 2 || !held.OneEach {
		t.Errorf("%d and %d images, of the latter %d classes", len(rest.Items), len(held.Items), len(held.Classes))
	}
	for _, it := range held.Items {
		if slices.ContainsFunc(rest.Items, func(o Item) bool { return o.Path == it.Path }) {
			t.Errorf("%s is on both sides", it.Path)
		}
	}
	if _, _, err := HoldOut(rest.Select("", []int{0, 1, 2}), 0.1, 3, nil); err == nil || !strings.Contains(err.Error(), "at least 4 are needed") {
		t.Errorf("three images: %v", err)
	}
}

// Views that are measured are functions of seed, path and number, whatever else is loaded.
func TestViewsOfASetAreDrawnByPathAndNumber(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b"}, 2, 2).folder(t)).Instances()
	vary := func(m *pixels.RGB, view int, r *rand.Rand) (*pixels.RGB, error) {
		out := pixels.NewRGB(1, 1)
		out.Pix[0], out.Pix[1] = uint8(view), uint8(r.IntN(256))
		return out, nil
	}
	load := func(s *Set, i int) []uint8 {
		m, err := s.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		return m.Pix
	}
	all := Views(set, 2, 7, vary)
	if want := []int{0, 0, 1, 1, 2, 2, 3, 3}; !slices.Equal(all.Labels(), want) {
		t.Errorf("labels %v, want %v", all.Labels(), want)
	}
	part := Views(set.Select("part", []int{3, 1}), 2, 7, vary)
	for k, i := range []int{6, 7, 2, 3} {
		if a, b := load(part, k), load(all, i); !slices.Equal(a, b) || int(a[0]) != k%2 {
			t.Errorf("view %d: %v, want %v", k, a, b)
		}
	}
	other := 0
	for i := range all.Items {
		if !slices.Equal(load(all, i), load(Views(set, 2, 8, vary), i)) {
			other++
		}
	}
	if other == 0 {
		t.Error("another seed, the same views")
	}
}
