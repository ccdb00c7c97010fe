package weights

import (
	"archive/zip"
	"reflect"
	"strings"
	"testing"
)

func TestNPYHeaders(t *testing.T) {
	four := floatBytes(1, 2, 3, 4)
	for name, c := range map[string]struct {
		header string
		data   []byte
		want   []float32
		shape  []int
	}{
		"as NumPy writes it":             {npyHead("<f4", "(2, 2)"), four, []float32{1, 2, 3, 4}, []int{2, 2}},
		"Python 2 sizes":                 {npyHead("<f4", "(2L, 2L)"), four, []float32{1, 2, 3, 4}, []int{2, 2}},
		"column order":                   {`{"descr": "<f4", "fortran_order": True, "shape": (2, 2)}`, four, []float32{1, 3, 2, 4}, []int{2, 2}},
		"column order of a vector":       {"{'shape': (4,), 'fortran_order': True, 'descr': '<f4'}", four, []float32{1, 2, 3, 4}, []int{4}},
		"column order of nothing":        {"{'shape': (0, 4), 'fortran_order': True, 'descr': '<f4'}", nil, []float32{}, []int{0, 4}},
		"scalar":                         {npyHead("<f4", "()"), four[:4], []float32{1}, []int{}},
		"big-endian":                     {npyHead(">i2", "(2,)"), []byte{0, 1, 0xff, 0xfe}, []float32{1, -2}, []int{2}},
		"big-endian in column order":     {"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", []byte{0, 1, 0, 2, 0, 3, 0, 4}, []float32{1, 3, 2, 4}, []int{2, 2}},
		"bytes have no order":            {npyHead("|i1", "(2,)"), []byte{1, 0xff}, []float32{1, -1}, []int{2}},
		"bfloat16 as raw bytes from JAX": {npyHead("|V2", "(1,)"), []byte{0x80, 0x3f}, []float32{1}, []int{1}},
	} {
		f, err := openBytes("x.npy", npyOf(c.header, c.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := f.Float32("")
		if err != nil || !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(f.Tensors()[0].Shape, c.shape) {
			t.Errorf("%s: %v %v (%v), want %v %v", name, got, f.Tensors()[0].Shape, err, c.want, c.shape)
		}
	}
}

func TestBrokenNPY(t *testing.T) {
	for header, want := range map[string]string{
		npyHead("|O", "(1,)"):                            "pickle",
		npyHead("|S-3", "(1,)"):                          "unknown dtype",
		npyHead("<M8[s]", "()"):                          "dtype",
		npyHead("=f4", "()"):                             "byte order",
		npyHead("|f4", "()"):                             "byte order",
		npyHead("f4", "()"):                              "unknown dtype",
		npyHead("<U-1", "()"):                            "unknown dtype",
		npyHead("<f4", "(-1,)"):                          "a size expected",
		npyHead("<f4", "(1.5,)"):                         "shape",
		npyHead("<f4", "(99999999999999999999,)"):        "a size expected",
		npyHead("<f4", "("+strings.Repeat("1,", 65)+")"): "more than 64",
		npyHead("<f4", "3"):                              "'(' expected",
		"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}":        "structured",
		"{'descr': '<f4', 'fortran_order': 0, 'shape': ()}":                     "True or False",
		"{'descr': '<f4', 'shape': ()}":                                         "must have",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}": "twice",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}":         "unknown key",
		npyHead("<f4", "()") + "x":                                              "after the dictionary",
		"{'descr":                                                               "without an end",
		"[]":                                                                    "'{' expected",
		"{'descr' '<f4'}":                                                       "':' expected",
		"{'descr': '<f4' 'shape': ()}":                                          "',' expected",
		"{1: 2}":                                                                "a string expected",
	} {
		if err := readAll("x.npy", npyOf(header, make([]byte, 4))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", header, err, want)
		}
	}
	good := npyOf(npyHead("<f4", "(1,)"), make([]byte, 4))
	for want, p := range map[string][]byte{
		"1 bytes follow": append(good[:len(good):len(good)], 0),
		"version 4.0":    []byte("\x93NUMPY\x04\x00\x05\x00{'a':"),
	} {
		if err := readAll("x.npy", p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

func TestTextArrays(t *testing.T) {
	// "ab" and "c", big-endian.
	p := npyOf(npyHead(">U2", "(2,)"), []byte("\x00\x00\x00a\x00\x00\x00b\x00\x00\x00c\x00\x00\x00\x00"))
	f, err := openBytes("x.npy", p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Tensors()[0].Strings(); err != nil || !reflect.DeepEqual(got, []string{"ab", "c"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := f.Float32(""); err == nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("text as numbers: %v", err)
	}
	if _, err := vec(t, "x", 1).Strings(); err == nil {
		t.Error("numbers as text")
	}
	f, err = openBytes("x.npy", npyOf(npyHead("|S3", "(2,)"), []byte("abcd\x00\x00")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Tensors()[0].Strings(); err != nil || !reflect.DeepEqual(got, []string{"abc", "d"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := f.Float32(""); err == nil || !strings.Contains(err.Error(), "text of bytes") {
		t.Errorf("bytes as numbers: %v", err)
	}
	f, err = openBytes("x.npy", npyOf(npyHead("<U0", "(2,)"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Tensors()[0].Strings(); err != nil || !reflect.DeepEqual(got, []string{"", ""}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNPZEntries(t *testing.T) {
	one := string(npyOf(npyHead("<f4", "()"), floatBytes(1)))
	f, err := openBytes("x.npz", zipOf(t, zip.Store, "d/", "", "d/a.npy", one))
	if err != nil || !reflect.DeepEqual(f.Names(), []string{"d/a"}) {
		t.Errorf("%v", err)
	}
	if err := readAll("x.npz", zipOf(t, zip.Store, "a.npy", one, "readme.txt", "x")); err == nil || !strings.Contains(err.Error(), "readme.txt") {
		t.Errorf("a text among arrays: %v", err)
	}
	if err := readAll("x.npz", zipOf(t, zip.Store)); err != nil {
		t.Errorf("a .npz without arrays: %v", err)
	}
	if err := readAll("x.npz", zipOf(t, zip.Store, "a.npy", "x")); err == nil || !strings.Contains(err.Error(), `"a.npy"`) {
		t.Errorf("the broken entry is not named: %v", err)
	}
}

// TestExtent: what Extent names in the file are the elements.
func TestExtent(t *testing.T) {
	four := floatBytes(1, 2, 3, 4)
	array := string(npyOf(npyHead("<f4", "(2, 2)"), four))
	for name, c := range map[string]struct {
		file []byte
		name string
		ok   bool
	}{
		"npy":           {[]byte(array), "", true},
		"stored npz":    {zipOf(t, zip.Store, "a.npy", array), "a", true},
		"deflated npz":  {zipOf(t, zip.Deflate, "a.npy", array), "a", false},
		"big-endian":    {npyOf(npyHead(">f4", "(2, 2)"), four), "", false},
		"Fortran order": {npyOf("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", four), "", false},
	} {
		f, err := openBytes("x.npy", c.file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, err := f.Tensor(c.name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		off, size, ok, err := x.Extent()
		if err != nil || ok != c.ok || ok && string(c.file[off:off+size]) != string(four) {
			t.Errorf("%s: %d bytes at %d, %v, %v", name, size, off, ok, err)
		}
		got := make([]float32, 4)
		if !ok {
			continue
		}
		if err := Decode(got, c.file[off:off+size], x.DType); err != nil || !reflect.DeepEqual(got, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if err := Decode(make([]float32, 2), four, Float32); err == nil {
		t.Error("16 bytes are two numbers")
	}
}
