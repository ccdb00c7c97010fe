package data

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/zipfile"
)

// maxFuzzed bounds the archives that are tried, and with them what a compressed one can
// unfold to.
const maxFuzzed = 1 << 16

func FuzzTar(f *testing.F) {
	whole := tarFile(f, true, linkEntries...)
	f.Add(whole)
	f.Add(whole[:len(whole)-1024])
	f.Add(whole[:len(whole)/2])
	f.Add(gzipped(whole))
	f.Add(bzippedTar(f))
	f.Add(tarFile(f, true, regular(`../a\1.png`), regular("/a/1.png"), regular("a/1.png"), tar.Header{Name: "a/p.png", Typeflag: tar.TypeFifo}))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxFuzzed {
			return
		}
		w := newWork(t.Context(), nil)
		if kind := archiveKindOf(file); kind == "gzip" || kind == "bzip2" {
			plain, _, err := unpackTar(bytes.NewReader(file), kind)
			if err != nil {
				return
			}
			file = plain
		}
		if index, err := indexTar(w, bytes.NewReader(file)); err == nil {
			readFuzzed(t, &tarSource{"x.tar", bytes.NewReader(file), index, io.NopCloser(nil)})
		}
	})
}

func FuzzZip(f *testing.F) {
	for _, set := range []files{classes(f, []string{"a", "b"}, 2), {"../a/1.png": {1}, `a\1.png`: {2}, "/a/1.png": {3}, "a/": nil}} {
		b, err := os.ReadFile(set.zip(f))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-20])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxFuzzed {
			return
		}
		r, err := zipfile.NewReader(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			index, err := indexZip(newWork(t.Context(), nil), r)
			if err != nil {
				t.Fatal(err)
			}
			readFuzzed(t, &zipSource{root: "x.zip", index: index})
		}
	})
}

// readFuzzed lists an archive and reads the head of what is listed.
func readFuzzed(t *testing.T, src source) {
	w := newWork(t.Context(), nil)
	found, err := readEntries(w, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found.images[:min(len(found.images), 64)] {
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || path.Clean(name) != name {
			t.Errorf("name %q", name)
		}
		r, _, err := src.open(name)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, io.LimitReader(r, 1<<16))
		r.Close()
	}
	set, err := readFolder(w, src, "x", Options{})
	if err == nil && len(set.Items) > len(found.images) {
		t.Errorf("%d items of %d images", len(set.Items), len(found.images))
	}
}
