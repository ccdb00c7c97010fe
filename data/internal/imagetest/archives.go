package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"image"
	"os"
	"path/filepath"
	"testing"
)

// Tar writes entries in the order given; end says whether the end mark is written.
func Tar(t testing.TB, end bool, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, h := range entries {
		var content []byte
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			content = EncodePNG(t, noise(4, 4, uint64(i)))
			h.Size = int64(len(content))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if end {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// Regular is an entry of a file.
func Regular(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }

// Symbolic is an entry of a symbolic link.
func Symbolic(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
}

// Hard is an entry of a hard link.
func Hard(name, to string) tar.Header {
	return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeLink}
}

// PutFile writes a file into a new folder.
func PutFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// LinkEntries are three files and links to them, to each other, to nothing and out of the archive.
func LinkEntries() []tar.Header {
	return []tar.Header{
		Regular("s/a/1.png"), Regular("s/a/2.png"), Regular("s/b/1.png"),
		Hard("s/a/hard.png", "s/a/1.png"), Hard("s/a/before.png", "s/b/later.png"), Regular("s/b/later.png"),
		Symbolic("s/b/soft.png", "../a/2.png"), Symbolic("s/b/twice.png", "soft.png"), Hard("s/a/both.png", "s/b/twice.png"),
		Symbolic("s/c", "a"), Symbolic("s/b/through.png", "../c/1.png"),
		Symbolic("s/b/loop.png", "pool.png"), Symbolic("s/b/pool.png", "loop.png"),
		Symbolic("s/b/out.png", "../../../etc/x.png"), Symbolic("s/b/root.png", "/etc/x.png"), Symbolic("s/b/none.png", "nothing.png"),
		Symbolic("s/d", "/mnt/d"), Hard("s/b/lost.png", "s/b/gone.png"),
	}
}

// Gzip compresses b.
func Gzip(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	w.Close()
	return z.Bytes()
}

// BzippedTar is an archive of a/1.pbm, a/2.pbm, b/1.pbm and b/2.pbm, each of one white pixel, that
// Python's tarfile and bz2 made: the standard library does not pack.
func BzippedTar(t testing.TB) []byte {
	t.Helper()
	return Base64(t, "QlpoOTFBWSZTWUp79kwAANLbgMqBQAH3gEAgcAJeAAoIIACQKAAaAAAKokmTTQzUHqBtS9jQUJiRE4RCIddW3swMxkaEnEiEhMNoRWZt6mamRJiUIZEiFihDyYGIsWeDgUZ6lSkcjE3KC19yX4qfTuXLlzQg/i7kinChIJT37Jg=")
}

// Base64 decodes text of the standard encoding.
func Base64(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// noise is a w x h image of the pixels of Noise.
func noise(w, h int, seed uint64) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i, v := range Noise(w, h, seed) {
		m.Pix[i/3*4+i%3] = v
	}
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 0xff
	}
	return m
}
