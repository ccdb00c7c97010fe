package data

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

func testPipeline(t testing.TB, random bool) *transform.Pipeline {
	t.Helper()
	recipe := transform.Recipe{Size: 8, Stretch: true}
	if random {
		recipe.Degrees, recipe.Shift, recipe.Pad, recipe.Flip = 20, 0.1, 2, true
	}
	p, err := recipe.Train(transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustLoader(t testing.TB, set *Set, p *transform.Pipeline, o LoaderOptions) *Loader {
	t.Helper()
	l, err := NewLoader(set, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// collect copies the batches of an epoch.
func collect(t testing.TB, l *Loader, s Sampler, epoch, from int) []Batch {
	t.Helper()
	var out []Batch
	for b, err := range l.Epoch(t.Context(), s, epoch, from) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Batch{Images: slices.Clone(b.Images), Labels: b.Labels, Items: b.Items, Shape: b.Shape, Next: b.Next})
		b.Recycle()
	}
	return out
}

func TestBatchesDoNotDependOnWorkersPrefetchOrCache(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c", "d", "e"}, 1, 6, 4).folder(t))
	s, err := NewBalanced(set, 3, 3, 11)
	if err != nil {
		t.Fatal(err)
	}
	want := collect(t, mustLoader(t, set, testPipeline(t, true), LoaderOptions{Seed: 5, Workers: 1, CacheBytes: -1}), s, 2, 0)
	for _, o := range []LoaderOptions{{Workers: 2}, {Workers: 7, Prefetch: 5}, {Workers: 3, CacheBytes: 8 * 8 * 3 * 4}} {
		o.Seed = 5
		l := mustLoader(t, set, testPipeline(t, true), o)
		for range 2 { // the second time from the cache
			if got := collect(t, l, s, 2, 0); !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v: other batches", o)
			}
		}
		if used := l.memo.used.Load(); used > l.memo.limit {
			t.Errorf("%d bytes cached, the limit is %d", used, l.memo.limit)
		}
	}
	other := collect(t, mustLoader(t, set, testPipeline(t, true), LoaderOptions{Seed: 6}), s, 2, 0)
	if reflect.DeepEqual(other[0].Images, want[0].Images) {
		t.Error("another seed, the same augmentation")
	}
}

// Shares of a batch are the batch: each image is varied as it is where all are loaded.
func TestSharesOfABatchAreTheBatch(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 1, 2, 4).folder(t))
	s, err := NewBalanced(set, 2, 5, 11) // images come several times in a batch
	if err != nil {
		t.Fatal(err)
	}
	whole := collect(t, mustLoader(t, set, testPipeline(t, true), LoaderOptions{Seed: 5}), s, 1, 0)
	for _, ranks := range []int{1, 2, 3, 4} {
		joined := make([]Batch, len(whole))
		for rank := range ranks {
			share := func(n int) (first, end int) { return n * rank / ranks, n * (rank + 1) / ranks }
			list := collect(t, mustLoader(t, set, testPipeline(t, true), LoaderOptions{Seed: 5, Share: share}), s, 1, 0)
			if len(list) != len(whole) {
				t.Fatalf("%d batches, want %d", len(list), len(whole))
			}
			for i, b := range list {
				if n := len(b.Items); b.Shape[0] != n || len(b.Labels) != n || b.Next != whole[i].Next {
					t.Errorf("a share of %d items: %v, next %v", n, b.Shape, b.Next)
				}
				joined[i].Images = append(joined[i].Images, b.Images...)
				joined[i].Labels = append(joined[i].Labels, b.Labels...)
				joined[i].Items = append(joined[i].Items, b.Items...)
			}
		}
		for i, b := range joined {
			if w := whole[i]; !slices.Equal(b.Images, w.Images) || !slices.Equal(b.Labels, w.Labels) || !slices.Equal(b.Items, w.Items) {
				t.Errorf("%d shares of batch %d are another batch", ranks, i)
			}
		}
	}
}

func TestEpochContinuesFromAnyBatch(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 2, 5).folder(t))
	s, err := NewBalanced(set, 2, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := mustLoader(t, set, testPipeline(t, true), LoaderOptions{})
	whole := collect(t, l, s, 0, 0)
	at := Position{}
	for i, b := range whole {
		if at != (Position{0, i}) {
			t.Errorf("batch %d is said to be at %+v", i, at)
		}
		if got := collect(t, l, s, at.Epoch, at.Batch); !reflect.DeepEqual(got, whole[i:]) {
			t.Errorf("continued from %d: other batches", i)
		}
		at = b.Next
	}
	if at != (Position{1, 0}) {
		t.Errorf("after the last batch: %+v", at)
	}
	for _, err := range l.Epoch(t.Context(), s, 0, len(whole)+1) {
		if err == nil {
			t.Error("start beyond the end is accepted")
		}
	}
}

// A class with one image gives it K times: the copies must not be equal, or
// their distance is 0 and no step learns from them.
func TestRepeatedImagesAreAugmentedDifferently(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b"}, 1).folder(t))
	s, err := NewBalanced(set, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := collect(t, mustLoader(t, set, testPipeline(t, true), LoaderOptions{}), s, 0, 0)[0]
	n := len(b.Images) / 4
	if b.Items[0] != b.Items[1] || slices.Equal(b.Images[:n], b.Images[n:2*n]) {
		t.Errorf("items %v; the two copies are equal", b.Items)
	}
}

func TestAllYieldsEveryItemInOrder(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 3, 4).folder(t))
	p := testPipeline(t, false)
	l := mustLoader(t, set, p, LoaderOptions{})
	next := 0
	var sizes []int
	for b, err := range l.All(t.Context(), 4) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, b.Shape[0])
		for k, i := range b.Items {
			m, err := set.Load(t.Context(), next)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float32, p.Size())
			p.Numbers(want, m) // 8 x 8 already
			if i != next || b.Labels[k] != set.Items[i].Label || !slices.Equal(b.Images[k*p.Size():(k+1)*p.Size()], want) {
				t.Errorf("item %d: got %d, label %d", next, i, b.Labels[k])
			}
			next++
		}
		b.Recycle()
	}
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("batches of %v", sizes)
	}
}

// withBad is a set of three classes with 4 images each, of which some are bad.
func withBad(t *testing.T, bad ...string) *Set {
	f := classes(t, []string{"a", "b", "c"}, 4)
	for _, name := range bad {
		f[name] = f[name][:40]
	}
	return mustOpen(t, "folder:"+f.folder(t))
}

func TestBadImageStopsTheLoaderAndIsNamed(t *testing.T) {
	set := withBad(t, "b/ac.png")
	for _, workers := range []int{1, 4} {
		l := mustLoader(t, set, testPipeline(t, false), LoaderOptions{Workers: workers})
		var last error
		n := 0
		for b, err := range l.All(t.Context(), 2) {
			if last != nil {
				t.Error("something follows an error")
			}
			if last = err; err == nil {
				n += len(b.Items)
			}
		}
		var named *ImageError
		if !errors.As(last, &named) || !strings.HasSuffix(filepath.ToSlash(named.Path), "b/ac.png") || !errors.Is(last, pixels.ErrTruncated) {
			t.Errorf("error %v", last)
		}
		if n != 6 {
			t.Errorf("%d images before the error, want 6", n)
		}
	}
}

func TestBoundedNumberOfBadImagesIsSkippedAndCounted(t *testing.T) {
	set := withBad(t, "b/ac.png", "c/aa.png")
	l := mustLoader(t, set, testPipeline(t, false), LoaderOptions{MaxBad: 2})
	var items []int
	for b, err := range l.All(t.Context(), 3) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Items) != len(b.Labels) || b.Shape[0] != len(b.Items) || len(b.Images) != len(b.Items)*l.pipeline.Size() {
			t.Errorf("batch of %d items, %d labels, shape %v", len(b.Items), len(b.Labels), b.Shape)
		}
		items = append(items, b.Items...)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 7, 9, 10, 11}; !slices.Equal(items, want) {
		t.Errorf("items %v, want %v", items, want)
	}
	s, err := NewBalanced(set, 3, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range collect(t, l, s, 0, 0) {
		if b.Shape[0] != 12 {
			t.Errorf("batch of %d, want 12: bad images are replaced in training", b.Shape[0])
		}
		for k, i := range b.Items {
			if i == 6 || i == 8 || set.Items[i].Label != b.Labels[k] {
				t.Errorf("slot %d holds item %d for label %d", k, i, b.Labels[k])
			}
		}
	}
	bad := l.Bad()
	if len(bad) != 2 || !strings.HasSuffix(filepath.ToSlash(bad[0].Path), "b/ac.png") || !strings.Contains(bad[1].Reason, "ends too early") {
		t.Errorf("bad %+v", bad)
	}
	l = mustLoader(t, set, testPipeline(t, false), LoaderOptions{MaxBad: 1})
	var last error
	for _, err := range l.All(t.Context(), 3) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "2 unreadable images, at most 1") {
		t.Errorf("one too many: %v", last)
	}
}

func TestClassWithoutReadableImageIsAnError(t *testing.T) {
	set := withBad(t, "b/aa.png", "b/ab.png", "b/ac.png", "b/ad.png")
	l := mustLoader(t, set, testPipeline(t, false), LoaderOptions{MaxBad: 10})
	s, err := NewBalanced(set, 3, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range l.Epoch(t.Context(), s, 0, 0) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), `class "b" has no readable image`) {
		t.Errorf("error %v", last)
	}
}

func TestMissingFileIsNamed(t *testing.T) {
	root := classes(t, []string{"a", "b"}, 2).folder(t)
	set := mustOpen(t, "folder:"+root)
	if err := os.Remove(filepath.Join(root, "a", "ab.png")); err != nil {
		t.Fatal(err)
	}
	for _, err := range mustLoader(t, set, testPipeline(t, false), LoaderOptions{}).All(t.Context(), 4) {
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "ab.png") {
			t.Errorf("error %v", err)
		}
	}
}

func TestCanceledLoaderStopsAndLeavesNoGoroutines(t *testing.T) {
	set := mustOpen(t, "glyphs")
	l := mustLoader(t, set, testPipeline(t, true), LoaderOptions{Workers: 4})
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range l.All(ctx, 16) {
		if last = err; err != nil {
			break
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("after canceling: %v", last)
	}
	for range l.All(t.Context(), 16) { // leaving the loop ends the workers too
		break
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, before it were %d", runtime.NumGoroutine(), before)
}

func TestWrongLoaderOptionsAreRefused(t *testing.T) {
	set := mustOpen(t, "glyphs")
	for _, o := range []LoaderOptions{{Workers: -1}, {Prefetch: -1}, {MaxBad: -1}} {
		if _, err := NewLoader(set, testPipeline(t, false), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if _, err := NewLoader(set.Select("none", nil), testPipeline(t, false), LoaderOptions{}); err == nil {
		t.Error("a set without images is accepted")
	}
	for _, err := range mustLoader(t, set, testPipeline(t, false), LoaderOptions{}).All(t.Context(), 0) {
		if err == nil {
			t.Error("batches of 0 are accepted")
		}
	}
}
