package data

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// grids is a pipeline of 3 x 4 x 4 numbers.
func grids(t testing.TB) *transform.Pipeline {
	t.Helper()
	p, err := transform.NewPipeline(4, 4, transform.UnitRange(), transform.Stretch{W: 4, H: 4, Filter: pixels.Bilinear})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// doubled are options whose features are the images' numbers times two.
func doubled(dir string) FeatureOptions {
	return FeatureOptions{Dir: dir, Of: "doubled", Shape: [3]int{3, 4, 4}, Batch: 2, Half: true,
		Compute: func(dst, images []float32) ([]float32, error) {
			for _, v := range images {
				dst = append(dst, 2*v)
			}
			return dst, nil
		}}
}

func mustCache(t testing.TB, set *Set, o FeatureOptions) *Features {
	t.Helper()
	f, err := CacheFeatures(t.Context(), set, grids(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// byPath are the numbers of every readable item, by path.
func byPath(t testing.TB, set *Set, l *Loader) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for b, err := range l.All(t.Context(), 4) {
		if err != nil {
			t.Fatal(err)
		}
		for k, i := range b.Items {
			all[set.Items[i].Path] = slices.Clone(b.Images[48*k : 48*k+48])
		}
	}
	return all
}

func TestCachedFeaturesAreThoseThatWereComputed(t *testing.T) {
	set := mustOpen(t, "folder:"+photoFiles(t).folder(t))
	plain, err := NewLoader(set, grids(t), LoaderOptions{MaxBad: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := byPath(t, set, plain)
	for _, half := range []bool{true, false} {
		o := doubled(t.TempDir())
		o.Half = half
		f := mustCache(t, set, o)
		if f.Built != len(set.Items) || len(f.Left) != 1 || !strings.Contains(f.Left[0], "bad.jpg") {
			t.Errorf("built %d of %d, left %q", f.Built, len(set.Items), f.Left)
		}
		// A part of the set finds its own rows.
		part := set.Select("part", []int{5, 1, 3, 0})
		l, err := NewFeatureLoader(part, f, false, LoaderOptions{MaxBad: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := byPath(t, part, l)
		if len(got) != 3 || len(l.Bad()) != 1 {
			t.Fatalf("%d images, bad %v", len(got), l.Bad())
		}
		for path, x := range got {
			for j, v := range x {
				exact := 2 * want[path][j]
				if d := math.Abs(float64(v - exact)); d > 5e-4*math.Abs(float64(exact)) || !half && d > 0 {
					t.Fatalf("half %v: %s number %d is %v, want %v", half, path, j, v, exact)
				}
			}
		}
	}
}

func TestFeaturesAreFoundAgainUnlessWhatTheyDependOnChanged(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	set := mustOpen(t, "folder:"+root)
	mustCache(t, set, doubled(dir))
	if f := mustCache(t, set, doubled(dir)); f.Built != 0 {
		t.Errorf("computed %d anew", f.Built)
	}
	other := doubled(dir)
	other.Of = "another network"
	if f := mustCache(t, set, other); f.Built != len(set.Items) {
		t.Errorf("another network: computed %d", f.Built)
	}
	if f := mustCache(t, set, doubled(dir)); f.Built != 0 {
		t.Errorf("the first network's were lost: computed %d anew", f.Built)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(root, "a", "small.png"), later, later); err != nil {
		t.Fatal(err)
	}
	changed := mustOpen(t, "folder:"+root)
	if f := mustCache(t, changed, doubled(dir)); f.Built != len(set.Items) {
		t.Errorf("a changed image: computed %d", f.Built)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.features"))
	if err != nil || len(files) != 2 {
		t.Errorf("files %q: the one of the images before the change should be gone (%v)", files, err)
	}
}

func TestInterruptedFeaturesAreGoneOnWith(t *testing.T) {
	set, dir := mustOpen(t, "folder:"+photoFiles(t).folder(t)), t.TempDir()
	o := doubled(dir)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(int, int) { cancel() }
	if _, err := CacheFeatures(ctx, set, grids(t), o); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	parts, err := filepath.Glob(filepath.Join(dir, "*.part"))
	if err != nil || len(parts) != 1 {
		t.Fatalf("unfinished files %q, %v", parts, err)
	}
	text, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	written := (len(text) - featureHead) / int(o.rowBytes())
	text[len(text)-20] ^= 1 // the last row did not reach the disk whole
	if err := os.WriteFile(parts[0], append(text, 1, 2, 3), 0o644); err != nil {
		t.Fatal(err)
	}
	f := mustCache(t, set, doubled(dir))
	if want := len(set.Items) - (written - 1); f.Built != want {
		t.Errorf("computed %d, want %d: %d of %d were written, the last not whole", f.Built, want, written, len(set.Items))
	}
	whole := mustCache(t, set, doubled(t.TempDir()))
	if !slices.Equal(f.mapped[featureHead:], whole.mapped[featureHead:]) {
		t.Error("the file differs from that of an uninterrupted run")
	}
}

func TestProcessesThatWantTheSameFeaturesComputeThemOnce(t *testing.T) {
	set, dir := mustOpen(t, "folder:"+photoFiles(t).folder(t)), t.TempDir()
	var group sync.WaitGroup
	built := make([]int, 4)
	for i := range built {
		group.Go(func() {
			f, err := CacheFeatures(t.Context(), set, grids(t), doubled(dir))
			if err != nil {
				t.Error(err)
				return
			}
			built[i] = f.Built
			f.Close()
		})
	}
	group.Wait()
	slices.Sort(built)
	if !slices.Equal(built, []int{0, 0, 0, len(set.Items)}) {
		t.Errorf("computed %v", built)
	}
}

// spoil changes a bit of a file where it lies.
func spoil(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedFeaturesAreNoticedAndComputedAnew(t *testing.T) {
	set, dir := mustOpen(t, "folder:"+photoFiles(t).folder(t)), t.TempDir()
	first := mustCache(t, set, doubled(dir))
	if first.Damaged {
		t.Error("there was nothing to be damaged")
	}
	want := slices.Clone(first.mapped)
	o := doubled(dir)
	checked := 0
	o.Checking = func(done, total int) { checked = done }
	for _, at := range []int64{3, featureHead + 7, featureHead + o.rowBytes() + 1, int64(len(want)) - 1} {
		spoil(t, first.Path, at)
		f := mustCache(t, set, o)
		if f.Built != len(set.Items) || !f.Damaged || !slices.Equal(f.mapped, want) {
			t.Errorf("byte %d: computed %d of %d anew, damaged %v, as before %v", at, f.Built, len(set.Items), f.Damaged, slices.Equal(f.mapped, want))
		}
	}
	if f := mustCache(t, set, o); f.Built != 0 || f.Damaged || checked != len(set.Items) {
		t.Errorf("computed %d anew, damaged %v, checked %d", f.Built, f.Damaged, checked)
	}
}

// What happens to the file after it was made is no image's fault, and none takes
// the place of another for it.
func TestFeaturesDamagedWhileInUseAreNoBadImages(t *testing.T) {
	set, dir := mustOpen(t, "folder:"+photoFiles(t).folder(t)), t.TempDir()
	f := mustCache(t, set, doubled(dir))
	spoil(t, f.Path, featureHead+7)
	l, err := NewFeatureLoader(set, f, false, LoaderOptions{MaxBad: len(set.Items)})
	if err != nil {
		t.Fatal(err)
	}
	sampler, err := NewRandom(set, len(set.Items), 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, batches := range map[string]iter.Seq2[*Batch, error]{"all": l.All(t.Context(), 2), "an epoch": l.Epoch(t.Context(), sampler, 0, 0)} {
		for _, e := range batches {
			err = e
		}
		if image := (*ImageError)(nil); err == nil || errors.As(err, &image) || !strings.Contains(err.Error(), f.Path) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, b := range l.Bad() {
		if !strings.Contains(b.Path, "bad.jpg") {
			t.Errorf("%s is blamed: %s", b.Path, b.Reason)
		}
	}
	if f := mustCache(t, set, doubled(dir)); f.Built != len(set.Items) {
		t.Errorf("computed %d anew", f.Built)
	}
}

func TestHalfOfTheFeaturesAreMirroredByTheSeed(t *testing.T) {
	root := make(files)
	for _, c := range []string{"a", "b"} {
		for i := range 100 {
			root[c+"/"+string(rune('a'+i/10))+string(rune('0'+i%10))+".png"] = imagetest.EncodePNG(t, picture(4, 4, uint64(i)))
		}
	}
	set := mustOpen(t, "folder:"+root.folder(t))
	f := mustCache(t, set, doubled(t.TempDir()))
	sampler, err := NewRandom(set, 50, 7)
	if err != nil {
		t.Fatal(err)
	}
	plain := make([]float32, 48)
	epoch := func(seed uint64, number, workers int) (turned []bool) {
		l, err := NewFeatureLoader(set, f, true, LoaderOptions{Seed: seed, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range l.Epoch(t.Context(), sampler, number, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Shape != [4]int{50, 3, 4, 4} {
				t.Errorf("shape %v", b.Shape)
			}
			for k, i := range b.Items {
				got := b.Images[48*k : 48*k+48]
				if err := f.read(plain, i); err != nil {
					t.Fatal(err)
				}
				same := slices.Equal(got, plain)
				mirror(plain, 4)
				if !same && !slices.Equal(got, plain) {
					t.Fatal("neither the features nor their mirror image")
				}
				turned = append(turned, !same)
			}
		}
		return turned
	}
	first := epoch(1, 0, 1)
	n := 0
	for _, f := range first {
		if f {
			n++
		}
	}
	if n < 70 || n > 130 { // 4 deviations of a binomial of 200
		t.Errorf("%d of 200 mirrored", n)
	}
	if !slices.Equal(first, epoch(1, 0, 4)) {
		t.Error("what is mirrored depends on the number of workers")
	}
	if slices.Equal(first, epoch(2, 0, 1)) || slices.Equal(first, epoch(1, 1, 1)) {
		t.Error("another seed or epoch mirrors the same")
	}
}

func TestFeaturesBeyondSixteenBitsAreRefused(t *testing.T) {
	set := mustOpen(t, "folder:"+photoFiles(t).folder(t))
	for v, half := range map[float32]bool{1e5: true, float32(math.Inf(1)): false, float32(math.NaN()): true} {
		o := doubled(t.TempDir())
		o.Half = half
		o.Compute = func(dst, images []float32) ([]float32, error) {
			dst = append(dst, images...)
			dst[3] = v
			return dst, nil
		}
		if _, err := CacheFeatures(t.Context(), set, grids(t), o); err == nil || !strings.Contains(err.Error(), "hold") || !strings.Contains(err.Error(), "exact.png") {
			t.Errorf("%v: got %v", v, err)
		}
	}
	o := doubled(t.TempDir())
	o.Half = false
	o.Compute = func(dst, images []float32) ([]float32, error) {
		for range images {
			dst = append(dst, 1e5)
		}
		return dst, nil
	}
	mustCache(t, set, o)
}
