package data

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestAChangedSetTakesThePlaceOfItsOldFile(t *testing.T) {
	root, dir := photoFiles(t).folder(t), t.TempDir()
	old, _ := prepareAt(t, dir, "folder:"+root)
	want, err := old.Load(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(want.Compact().Pix)
	was := preparedFile(t, dir)
	other := photoFiles(t).folder(t)
	prepareAt(t, dir, "folder:"+other)
	if err := os.WriteFile(filepath.Join(root, "b", "new.png"), imagetest.EncodePNG(t, picture(5, 5, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	unfinished := filepath.Join(dir, "."+filepath.Base(was)+"123")
	if err := os.WriteFile(unfinished, []byte("of a killed process"), 0o644); err != nil {
		t.Fatal(err)
	}
	prepareAt(t, dir, "folder:"+root)
	found, err := filepath.Glob(filepath.Join(dir, "*.images"))
	if err != nil || len(found) != 2 {
		t.Errorf("%q, want one file a set, %v", found, err)
	}
	for _, gone := range []string{was, was + ".json", unfinished} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	// The set that still reads the removed file is not disturbed.
	if got, err := old.Load(t.Context(), 0); err != nil || !bytes.Equal(got.Compact().Pix, before) {
		t.Errorf("the older set has lost its images: %v", err)
	}
}

func TestRelativeNamesOfTwoFoldersAreTwoSets(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for k := range 2 {
		root := files{"set/a/x.png": imagetest.EncodePNG(t, picture(8, 8, 1)), "set/b/y.png": imagetest.EncodePNG(t, picture(8, 8, 2))}.folder(t)
		for _, f := range []string{"a/x.png", "b/y.png"} {
			if err := os.Chtimes(filepath.Join(root, "set", f), now, now); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(root)
		if _, decoded := prepareAt(t, dir, "folder:set"); decoded != 2 {
			t.Errorf("folder %d: %d images decoded", k, decoded)
		}
		if _, decoded := prepareAt(t, dir, "folder:"+filepath.Join(root, "set")); decoded != 0 {
			t.Errorf("folder %d by its full name: %d images decoded again", k, decoded)
		}
	}
}

func TestWithoutAFileTheImagesAreTheSame(t *testing.T) {
	root := photoFiles(t).folder(t)
	stored, _ := prepareAt(t, t.TempDir(), "folder:"+root)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	raw := mustOpen(t, "folder:"+root)
	var why error
	set, err := Prepare(t.Context(), raw, PrepareOptions{Dir: filepath.Join(file, "sub"), Shorter: 32, Unstored: func(err error) { why = err }})
	if err != nil || why == nil {
		t.Fatalf("error %v, told %v", err, why)
	}
	if _, ok := set.Prepared(); ok {
		t.Error("it claims to be prepared")
	}
	for i := range set.Items {
		a, errA := stored.Load(t.Context(), i)
		b, errB := set.Load(t.Context(), i)
		if (errA == nil) != (errB == nil) || errA == nil && !bytes.Equal(a.Compact().Pix, b.Compact().Pix) {
			t.Errorf("%s: other pixels, %v, %v", set.Where(i), errA, errB)
		}
	}
	if info, ok := stored.Prepared(); !ok || info.Unreadable != 1 || !info.Built || info.Bytes < headSize {
		t.Errorf("%+v", info)
	}
	if _, err := Shrunk(raw, 0); err == nil {
		t.Error("a shorter side of 0 is accepted")
	}
}

func TestWhatTheDiskCannotHoldIsNotBegun(t *testing.T) {
	set := mustOpen(t, "folder:"+photoFiles(t).folder(t))
	// 70x50 -> 44x32, 9x12, 40x32, 40x90 -> 32x72, 100x33 -> 96x32 (the shorter side is 33).
	want := int64(3*(44*32+9*12+40*32+32*72+96*32)) * 6 / 5
	if got := estimate(set, 32); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	var free int64 = 1000
	for _, c := range []struct {
		need int64
		fits bool
	}{{0, true}, {950, true}, {951, false}} {
		if err := roomFor(c.need, free, 6, PrepareOptions{Dir: "/cache", Shorter: 32}); (err == nil) != c.fits || err != nil && !errors.Is(err, ErrNoRoom) {
			t.Errorf("%d of %d bytes: %v", c.need, free, err)
		}
	}
}
