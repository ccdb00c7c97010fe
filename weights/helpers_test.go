package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func openBytes(name string, p []byte) (*File, error) {
	return NewFile(bytes.NewReader(p), int64(len(p)), name)
}

func mustTensor(t testing.TB, name string, shape []int, data []float32) *Tensor {
	t.Helper()
	x, err := FromFloat32(name, shape, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ramp(n int) []float32 {
	p := make([]float32, n)
	for i := range p {
		p[i] = float32(i) + 0.5
	}
	return p
}

func goldenFile(t testing.TB, name string) []byte {
	t.Helper()
	p, err := os.ReadFile("testdata/golden/weights/files/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// goldenFiles returns the files of the family with one of the extensions.
func goldenFiles(t testing.TB, exts ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, ext := range exts {
		names, err := filepath.Glob("testdata/golden/weights/files/*" + ext)
		if err != nil || len(names) == 0 {
			t.Fatalf("no golden files *%s (%v)", ext, err)
		}
		for _, name := range names {
			p, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = p
		}
	}
	return files
}

// zipOf builds an archive; names and contents alternate.
func zipOf(t testing.TB, method uint16, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		e, err := w.CreateHeader(&zip.FileHeader{Name: entries[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write([]byte(entries[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// torchZip is an archive by torch.save with the given pickle and storage "0".
func torchZip(t testing.TB, pickle string, storage []byte) []byte {
	t.Helper()
	return zipOf(t, zip.Store, "a/data.pkl", pickle, "a/data/0", string(storage), "a/version", "3\n")
}

// Parts of pickles.

func pyString(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func pyInt(n int) string {
	if n >= 0 && n < 256 {
		return "K" + string([]byte{byte(n)})
	}
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func pyInts(ns ...int) string {
	s := "("
	for _, n := range ns {
		s += pyInt(n)
	}
	return s + "t"
}

// pyStorageRef refers to storage "0".
func pyStorageRef(kind string, elems int) string {
	return "(" + pyString("storage") + "ctorch\n" + kind + "\n" + pyString("0") + pyString("cpu") + pyInt(elems) + "tQ"
}

// pyTensorOf is a tensor over storage "0".
func pyTensorOf(kind string, elems, offset int, size, stride []int) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + pyStorageRef(kind, elems) + pyInt(offset) + pyInts(size...) + pyInts(stride...) +
		"\x89ccollections\nOrderedDict\n)RtR"
}

// pyStateDict is a pickle of a dictionary; names and values alternate.
func pyStateDict(items ...string) string {
	s := "\x80\x02}("
	for i := 0; i < len(items); i += 2 {
		s += pyString(items[i]) + items[i+1]
	}
	return s + "u."
}

func floatBytes(data ...float32) []byte {
	var p []byte
	for _, x := range data {
		p, _ = binary.Append(p, binary.LittleEndian, x)
	}
	return p
}

// safetensorsOf is a file with the given header text and data.
func safetensorsOf(header string, data []byte) []byte {
	p := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(p, header...), data...)
}

// npyOf is a version 1.0 array with the given dictionary and data.
func npyOf(header string, data []byte) []byte {
	p := append([]byte(npyMagic+"\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(p, header...), data...)
}

func npyHead(descr, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
}
