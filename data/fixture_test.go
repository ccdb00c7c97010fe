package data

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

// files maps paths to contents.
type files map[string][]byte

// folder writes the files below a new folder.
func (f files) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// zip writes the files into an archive.
func (f files) zip(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range f {
		e, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// classes returns a folder set: count[i] PNG images in class names[i], all
// different.
func classes(t testing.TB, names []string, count ...int) files {
	t.Helper()
	f := files{}
	for i, class := range names {
		for k := range count[i%len(count)] {
			f[class+"/"+string(rune('a'+k/26))+string(rune('a'+k%26))+".png"] = imagetest.EncodePNG(t, picture(8, 8, uint64(1000*i+k)))
		}
	}
	return f
}

// mustOpen opens a set and closes it with the test.
func mustOpen(t testing.TB, spec string) *Set {
	t.Helper()
	set, err := Open(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// picture is a w x h image whose pixels depend on seed.
func picture(w, h int, seed uint64) *pixels.RGB {
	return &pixels.RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Noise(w, h, seed)}
}

// smooth is a w x h gradient that depends on seed: JPEG keeps it well.
func smooth(w, h int, seed uint64) *pixels.RGB {
	return &pixels.RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Gradient(w, h, seed)}
}
