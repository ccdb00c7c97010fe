package source

import (
	"archive/tar"
	"bytes"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/internal/zipfile"
)

// maxFuzzed bounds the archives that are tried, and with them what a compressed one can
// unfold to.
const maxFuzzed = 1 << 16

func FuzzTar(f *testing.F) {
	whole := imagetest.Tar(f, true, imagetest.LinkEntries()...)
	f.Add(whole)
	f.Add(whole[:len(whole)-1024])
	f.Add(whole[:len(whole)/2])
	f.Add(imagetest.Gzip(whole))
	f.Add(imagetest.BzippedTar(f))
	f.Add(imagetest.Tar(f, true, imagetest.Regular(`../a\1.png`), imagetest.Regular("/a/1.png"), imagetest.Regular("a/1.png"), tar.Header{Name: "a/p.png", Typeflag: tar.TypeFifo}))
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxFuzzed {
			return
		}
		w := progress.New(t.Context(), nil)
		if kind := kindOf(file); kind == "gzip" || kind == "bzip2" {
			plain, _, err := unpackTar(bytes.NewReader(file), kind)
			if err != nil {
				return
			}
			file = plain
		}
		if index, err := indexTar(w, bytes.NewReader(file)); err == nil {
			readFuzzed(t, &tarTree{"x.tar", bytes.NewReader(file), index, io.NopCloser(nil)})
		}
	})
}

func FuzzZip(f *testing.F) {
	for _, names := range [][]string{{"a/1.png", "a/2.png", "b/1.png", "b/2.png"}, {"../a/1.png", `a\1.png`, "/a/1.png", "a/"}} {
		b := zipOf(f, names...)
		f.Add(b)
		f.Add(b[:len(b)-20])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > maxFuzzed {
			return
		}
		r, err := zipfile.NewReader(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			index, err := indexZip(progress.New(t.Context(), nil), r)
			if err != nil {
				t.Fatal(err)
			}
			readFuzzed(t, &zipTree{root: "x.zip", index: index})
		}
	})
}

// readFuzzed lists an archive and reads the head of what is listed.
func readFuzzed(t *testing.T, src Tree) {
	w := progress.New(t.Context(), nil)
	found, err := ReadEntries(w, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found.Images[:min(len(found.Images), 64)] {
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || path.Clean(name) != name {
			t.Errorf("name %q", name)
		}
		r, _, err := src.Open(name)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, io.LimitReader(r, 1<<16))
		r.Close()
	}
}
