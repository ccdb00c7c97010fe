package features

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzOpen reads what the fuzzer made as a file of each kind: rows, and labels.
func FuzzOpen(f *testing.F) {
	array := npy("<f4", false, "(3, 2)", six, le)
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	if e, err := w.Create("a.npy"); err != nil {
		f.Fatal(err)
	} else if _, err := e.Write(array); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	for i, seed := range [][]byte{array, z.Bytes(), []byte("e0,e1,label\n1,2,a\n3,4,b\n"), npy("|S2", false, "(2,)", []byte("a\x00bb"), le)} {
		f.Add(seed, uint8(i))
	}
	endings := []string{".npy", ".npz", ".csv", ".txt", ".safetensors", ".parquet"}
	f.Fuzz(func(t *testing.T, content []byte, kind uint8) {
		if len(content) > 1<<16 {
			t.Skip()
		}
		path := filepath.Join(t.TempDir(), "x"+endings[int(kind)%len(endings)])
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := ReadColumn(path); err == nil {
			if names, of := c.Classes(); len(of) != c.Len() || len(names) > len(of) {
				t.Fatalf("%d classes of %d values", len(names), len(of))
			}
		}
		x, err := Open(path)
		if err != nil {
			return
		}
		defer x.Close()
		if all, err := x.All(); err == nil && len(all) != x.Rows()*x.Width() {
			t.Fatalf("%d numbers of %d rows of %d", len(all), x.Rows(), x.Width())
		}
		_ = x.CheckFinite() // most are not
		for _, name := range x.Columns() {
			if c, err := x.Column(name); err == nil && c.Len() != x.Rows() {
				t.Fatalf("%d values of %d rows", c.Len(), x.Rows())
			}
		}
	})
}
