package data

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// photoFiles is a set of larger and smaller images, one of them unreadable.
func photoFiles(t testing.TB) files {
	return files{
		"a/large.jpg": imagetest.EncodeJPEG(t, smooth(70, 50, 1)), "a/small.png": imagetest.EncodePNG(t, picture(9, 12, 2)), "a/exact.png": imagetest.EncodePNG(t, picture(40, 32, 3)),
		"b/tall.jpg": imagetest.EncodeJPEG(t, smooth(40, 90, 4)), "b/bad.jpg": []byte("no image"), "b/wide.png": imagetest.EncodePNG(t, picture(100, 33, 5)),
	}
}

// prepareAt prepares what spec names and tells how many images were decoded.
func prepareAt(t testing.TB, dir, spec string) (set *Set, decoded int) {
	t.Helper()
	raw, err := Open(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	set, err = Prepare(t.Context(), raw, PrepareOptions{Dir: dir, Shorter: 32, Progress: func(int, int) {
		mu.Lock()
		decoded++
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set, decoded
}

func preparedFile(t testing.TB, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.images"))
	if err != nil || len(found) != 1 {
		t.Fatalf("prepared files %q, %v", found, err)
	}
	return found[0]
}

func TestPreparedSetEvaluatesToTheSameNumbers(t *testing.T) {
	for name, root := range map[string]string{"folder": photoFiles(t).folder(t), "zip": photoFiles(t).zip(t)} {
		dir := t.TempDir()
		raw := mustOpen(t, "folder:"+root)
		set, decoded := prepareAt(t, dir, "folder:"+root)
		if decoded != 6 {
			t.Errorf("%s: %d images decoded", name, decoded)
		}
		eval := transform.ShorterCrop{Size: 32, W: 28, H: 28, Filter: pixels.Bilinear}
		for i := range raw.Items {
			want, err := raw.Load(t.Context(), i)
			got, gotErr := set.Load(t.Context(), i)
			if err != nil {
				if !errors.Is(gotErr, pixels.ErrNotImage) || gotErr.Error() != err.Error() {
					t.Errorf("%s: error %v, want %v", name, gotErr, err)
				}
				continue
			}
			if gotErr != nil {
				t.Fatal(gotErr)
			}
			if min(got.W, got.H) > 32 {
				t.Errorf("%s: %d x %d pixels", raw.Where(i), got.W, got.H)
			}
			if !bytes.Equal(applied(t, eval, got).Compact().Pix, applied(t, eval, want).Compact().Pix) {
				t.Errorf("%s: other pixels", raw.Where(i))
			}
			if set.Where(i) != raw.Where(i) {
				t.Errorf("%s is called %s", raw.Where(i), set.Where(i))
			}
		}
		rawHash, _ := raw.Hash()
		if hash, err := set.Hash(); err != nil || hash != rawHash {
			t.Errorf("%s: hash %s, %v", name, hash, err)
		}
		if _, decoded = prepareAt(t, dir, "folder:"+root); decoded != 0 {
			t.Errorf("%s: %d images decoded again", name, decoded)
		}
		if part := set.Select("part", []int{3}); part.Items[0].Path != raw.Items[3].Path {
			t.Errorf("part holds %s", part.Items[0].Path)
		}
		manifest, err := os.ReadFile(preparedFile(t, dir) + ".json")
		if err != nil || !strings.Contains(string(manifest), `"images": 6`) {
			t.Errorf("manifest %s, %v", manifest, err)
		}
	}
}

func TestPreparedSetIsMadeAgainWhenTheSourceChanges(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	prepareAt(t, dir, "folder:"+root)
	now := imagetest.EncodePNG(t, picture(12, 9, 77))
	path := filepath.Join(root, "a", "small.png")
	if err := os.WriteFile(path, now, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	set, decoded := prepareAt(t, dir, "folder:"+root)
	if decoded != 6 {
		t.Errorf("changed file: %d images decoded", decoded)
	}
	for i, it := range set.Items {
		if it.Path == "a/small.png" {
			if m, err := set.Load(t.Context(), i); err != nil || m.W != 12 {
				t.Errorf("the old image is shown: %v", err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, "a", "new.png"), now, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, decoded = prepareAt(t, dir, "folder:"+root); decoded != 7 {
		t.Errorf("new file: %d images decoded", decoded)
	}
	raw, err := Open(t.Context(), "folder:"+root, Options{Decode: pixels.Options{Alpha: pixels.AlphaWhite}})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := filepath.Glob(filepath.Join(dir, "*.images"))
	other, err := Prepare(t.Context(), raw, PrepareOptions{Dir: dir, Shorter: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if after, _ := filepath.Glob(filepath.Join(dir, "*.images")); len(after) != len(before)+1 {
		t.Error("another decoding uses the same prepared file")
	}
}

func TestDamagedPreparedFileIsFoundAndMadeAgain(t *testing.T) {
	root := photoFiles(t).folder(t)
	for name, damage := range map[string]func([]byte) []byte{
		"head":   func(b []byte) []byte { b[20] ^= 1; return b },
		"count":  func(b []byte) []byte { b[16+32] ^= 1; return b },
		"index":  func(b []byte) []byte { b[len(b)-30] ^= 1; return b },
		"cut":    func(b []byte) []byte { return b[:len(b)-7] },
		"short":  func(b []byte) []byte { return b[:10] },
		"empty":  func([]byte) []byte { return nil },
		"longer": func(b []byte) []byte { return append(b, 0) },
	} {
		dir := t.TempDir()
		prepareAt(t, dir, "folder:"+root)
		file := preparedFile(t, dir)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(file) // the mapping of the first set keeps the old one
		if err := os.WriteFile(file, damage(b), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, decoded := prepareAt(t, dir, "folder:"+root); decoded != 6 {
			t.Errorf("%s: %d images decoded", name, decoded)
		}
	}
}

// Damaged pixels must never reach a batch: the original is decoded instead, and
// the file goes away.
func TestDamagedPixelsAreNotUsed(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	first, _ := prepareAt(t, dir, "folder:"+root)
	file := preparedFile(t, dir)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := headSize; i < len(b)-6*entrySize; i += 50 {
		b[i] ^= 0xff
	}
	os.Remove(file)
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	set, decoded := prepareAt(t, dir, "folder:"+root)
	if decoded != 0 {
		t.Fatalf("%d images decoded", decoded)
	}
	for i := range set.Items {
		want, err := first.Load(t.Context(), i)
		got, gotErr := set.Load(t.Context(), i)
		if (err == nil) != (gotErr == nil) || err == nil && !bytes.Equal(got.Compact().Pix, want.Compact().Pix) {
			t.Errorf("%s: other pixels, %v", set.Where(i), gotErr)
		}
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the damaged file is still there: %v", err)
	}
}

func TestPreparedBoxesAreCroppedOnce(t *testing.T) {
	m := picture(80, 60, 1)
	root := files{"a.png": imagetest.EncodePNG(t, m), "list.csv": []byte("path,label,x1,y1,x2,y2\na.png,b,10,20,30,50\na.png,c,,,,\n")}.folder(t)
	set, _ := prepareAt(t, t.TempDir(), "csv:"+filepath.Join(root, "list.csv"))
	got, err := set.Load(t.Context(), 0)
	if err != nil || got.W != 20 || got.H != 30 || got.At(0, 0) != m.At(10, 20) {
		t.Errorf("%v", err)
	}
	if got, err = set.Load(t.Context(), 1); err != nil || got.H != 32 || got.W != 42 {
		t.Errorf("%d x %d, %v", got.W, got.H, err)
	}
}

// The first to come works, the others find its file.
func TestTwoProcessesPrepareOneSet(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	var group sync.WaitGroup
	var decoded atomic.Int64
	for range 4 {
		group.Go(func() {
			raw, err := Open(t.Context(), "folder:"+root, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			set, err := Prepare(t.Context(), raw, PrepareOptions{Dir: dir, Shorter: 32, Progress: func(int, int) { decoded.Add(1) }})
			if err != nil {
				t.Error(err)
				return
			}
			defer set.Close()
			if _, err := set.Load(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := decoded.Load(); n != 6 {
		t.Errorf("%d images decoded, want 6, each once", n)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%d files are left, want the images, the manifest and the lock, %v", len(left), err)
	}
}

func TestPreparingStopsCleanly(t *testing.T) {
	raw := mustOpen(t, "folder:"+photoFiles(t).folder(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := Prepare(ctx, raw, PrepareOptions{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 1 || len(left) == 1 && !strings.HasSuffix(left[0].Name(), ".lock") {
		t.Errorf("%v are left behind", left)
	}
	if _, err := Prepare(t.Context(), raw, PrepareOptions{Dir: dir, Shorter: -1}); err == nil {
		t.Error("a negative size is accepted")
	}
	file := filepath.Join(files{"f": []byte("x")}.folder(t), "f")
	if _, err := Prepare(t.Context(), raw, PrepareOptions{Dir: filepath.Join(file, "sub")}); err == nil || !strings.Contains(err.Error(), "preparing folder:") {
		t.Errorf("no folder to write to: %v", err)
	}
}

func TestSetsWithoutFilesNeedNoPreparing(t *testing.T) {
	raw := mustOpen(t, "glyphs")
	set, err := Prepare(t.Context(), raw, PrepareOptions{Dir: t.TempDir()})
	if err != nil || set != raw {
		t.Errorf("%v", err)
	}
}

func TestPreparedSetFeedsALoader(t *testing.T) {
	f := maps.Clone(photoFiles(t))
	delete(f, "b/bad.jpg")
	set, _ := prepareAt(t, t.TempDir(), "folder:"+f.folder(t))
	p, err := transform.Recipe{Size: 16, MinArea: 0.3, MaxArea: 1, Flip: true}.Train(transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewBalanced(set, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := collect(t, mustLoader(t, set, p, LoaderOptions{CacheBytes: -1}), s, 0, 0)
	b := collect(t, mustLoader(t, set, p, LoaderOptions{Workers: 3}), s, 0, 0)
	for i := range a {
		if !slices.Equal(a[i].Images, b[i].Images) {
			t.Error("other batches from memory")
		}
	}
}

func applied(t *testing.T, tr transform.Step, m *pixels.RGB) *pixels.RGB {
	t.Helper()
	out, err := tr.Apply(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
