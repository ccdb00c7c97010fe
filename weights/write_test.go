package weights

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sample has several types, a scalar, an empty tensor and special values.
func sample(t testing.TB) []*Tensor {
	t.Helper()
	f, err := openBytes("mixed.safetensors", goldenFile(t, "mixed.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return f.Tensors()
}

// sameTensors compares names, order, types, shapes and bytes.
func sameTensors(t *testing.T, got, want []*Tensor) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tensors, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.DType != w.DType || !reflect.DeepEqual(append([]int{}, g.Shape...), append([]int{}, w.Shape...)) {
			t.Errorf("tensor %d is %q %v %v, want %q %v %v", i, g.Name, g.DType, g.Shape, w.Name, w.DType, w.Shape)
			continue
		}
		a, err1 := g.Bytes()
		b, err2 := w.Bytes()
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%q: bytes differ (%v, %v)", g.Name, err1, err2)
		}
	}
}

func reopen(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestSafetensorsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	want := sample(t)
	meta := map[string]string{"z": "last", "a": "quote \" and \\ and ünïcode\n", "": "empty key", "html": "<&>"}
	if err := WriteSafetensors(path, want, meta); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, path)
	if !reflect.DeepEqual(f.Metadata(), meta) {
		t.Errorf("metadata %q, want %q", f.Metadata(), meta)
	}
	// The same tensors, wide types first, otherwise in order.
	for _, w := range want {
		g, err := f.Tensor(w.Name)
		if err != nil {
			t.Fatal(err)
		}
		sameTensors(t, []*Tensor{g}, []*Tensor{w})
	}
	header := binary.LittleEndian.Uint64(first(t, path, 8))
	if header%8 != 0 {
		t.Errorf("the header has %d bytes, not a multiple of 8", header)
	}
	bits := 64
	for _, g := range f.Tensors() {
		if g.DType.Bits() > bits {
			t.Errorf("%q (%v) comes after a narrower type", g.Name, g.DType)
		}
		bits = g.DType.Bits()
		if v := g.data; v.off%int64(v.width) != 0 {
			t.Errorf("%q (%v) lies at %d, not aligned", g.Name, g.DType, v.off)
		}
	}
	// Written again from the file: the same bytes.
	again := filepath.Join(t.TempDir(), "b.safetensors")
	if err := WriteSafetensors(again, f.Tensors(), f.Metadata()); err != nil {
		t.Fatal(err)
	}
	if a, b := content(t, path), content(t, again); !bytes.Equal(a, b) {
		t.Errorf("%d bytes, then %d different ones", len(a), len(b))
	}
}

func TestSafetensorsOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := WriteSafetensors(path, nil, nil); err != nil {
		t.Fatal(err)
	}
	if f := reopen(t, path); len(f.Tensors()) != 0 || len(f.Metadata()) != 0 {
		t.Errorf("%q %q", f.Names(), f.Metadata())
	}
}

func TestStreamedTensorsMayComeInAnyOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	a, b := mustTensor(t, "a", []int{2, 2}, ramp(4)), mustTensor(t, "b", nil, ramp(1))
	w, err := CreateSafetensors(path, []Spec{{Name: "a", Shape: []int{2, 2}}, {Name: "b"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, x := range []*Tensor{b, a} {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sameTensors(t, reopen(t, path).Tensors(), []*Tensor{a, b})
	if err := w.Close(); err == nil {
		t.Error("closed twice")
	}
}

func TestNPZRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	var want []*Tensor
	for _, x := range sample(t) {
		if x.DType.facts().npy != "" {
			want = append(want, x)
		}
	}
	text, err := FromStrings("paths", []string{"a/b.png", "", "ünïcode 🐦.jpg"})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := FromInt64("labels", []int{3}, []int64{-1, math.MaxInt64, 7})
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, text, labels)
	if err := WriteNPZ(path, want); err != nil {
		t.Fatal(err)
	}
	f := reopen(t, path)
	sameTensors(t, f.Tensors(), want)
	x, _ := f.Tensor("paths")
	if s, err := x.Strings(); err != nil || !reflect.DeepEqual(s, []string{"a/b.png", "", "ünïcode 🐦.jpg"}) {
		t.Errorf("%q, %v", s, err)
	}
	again := filepath.Join(t.TempDir(), "b.npz")
	if err := WriteNPZ(again, f.Tensors()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content(t, path), content(t, again)) {
		t.Error("written again, the bytes differ")
	}
}

// TestNPYIsWhatNumPyWrites compares whole files with those of numpy.save.
func TestNPYIsWhatNumPyWrites(t *testing.T) {
	f, err := openBytes("one.npy", goldenFile(t, "one.npy"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteNPY(path, f.Tensors()[0]); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); !bytes.Equal(got, goldenFile(t, "one.npy")) {
		t.Errorf("%q", got)
	}
	// Headers by numpy 1.24.
	text, _ := FromStrings("", []string{"ab", "c"})
	for header, x := range map[string]*Tensor{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (), }":   mustTensor(t, "", nil, ramp(1)),
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }": mustTensor(t, "", []int{3}, ramp(3)),
		"{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }": text,
	} {
		p, err := npyHeaderBytes(x)
		if err != nil || len(p)%64 != 0 || strings.TrimRight(string(p[10:len(p)-1]), " ") != header || p[len(p)-1] != '\n' {
			t.Errorf("%q, %v", p, err)
		}
	}
}

func TestStridedTensorsAreWrittenInRowMajorOrder(t *testing.T) {
	p := torchZip(t, pyStateDict("t", pyTensorOf("FloatStorage", 6, 0, []int{3, 2}, []int{1, 3})), floatBytes(0, 1, 2, 3, 4, 5))
	f, err := openBytes("x.pth", p)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := WriteSafetensors(path, f.Tensors(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := reopen(t, path).Float32("t"); err != nil || !reflect.DeepEqual(got, []float32{0, 3, 1, 4, 2, 5}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWritersRefuse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	x := mustTensor(t, "x", []int{2}, ramp(2))
	text, _ := FromStrings("t", []string{"a"})
	bf16 := &Tensor{Name: "h", DType: BFloat16}
	for want, write := range map[string]func() error{
		"two tensors have the name":    func() error { return WriteSafetensors(path, []*Tensor{x, x}, nil) },
		"no type for text":             func() error { return WriteSafetensors(path, []*Tensor{text}, nil) },
		"cannot have the name":         func() error { return WriteSafetensors(path, []*Tensor{mustTensor(t, metadataKey, nil, ramp(1))}, nil) },
		"is not UTF-8":                 func() error { return WriteSafetensors(path, []*Tensor{mustTensor(t, "\xff", nil, ramp(1))}, nil) },
		`metadata "k" is not UTF-8`:    func() error { return WriteSafetensors(path, nil, map[string]string{"k": "\xff"}) },
		"two arrays have the name":     func() error { return WriteNPZ(path, []*Tensor{x, x}) },
		"an array without a name":      func() error { return WriteNPZ(path, []*Tensor{mustTensor(t, "", nil, ramp(1))}) },
		"NumPy has no type":            func() error { return WriteNPZ(path, []*Tensor{bf16}) },
		"convert tensor \"h\"":         func() error { return WriteNPY(path, bf16) },
		"is a folder":                  func() error { return WriteNPY(dir, x) },
		"not a regular file":           func() error { return WriteNPY("/dev/null", x) },
		"no such file":                 func() error { return WriteNPY(filepath.Join(dir, "none", "a"), x) },
		"not a directory":              func() error { return WriteNPY(filepath.Join(os.Args[0], "a"), x) },
		"was not announced":            func() error { return stream(path, []Spec{{Name: "y"}}, x) },
		"[3] was announced":            func() error { return stream(path, []Spec{{Name: "x", Shape: []int{3}}}, x) },
		"is written twice":             func() error { return stream(path, []Spec{{Name: "x", Shape: []int{2}}}, x, x) },
		"announced but not written":    func() error { return stream(path, []Spec{{Name: "x", Shape: []int{2}}}) },
		"shape [-1] has a negative":    func() error { return stream(path, []Spec{{Name: "x", Shape: []int{-1}}}) },
		"shape [3] has 3 elements":     func() error { _, err := FromFloat32("x", []int{3}, ramp(2)); return err },
		"ends in a zero":               func() error { _, err := FromStrings("x", []string{"a\x00"}); return err },
		`string 0 ("\xff") is not UTF`: func() error { _, err := FromStrings("x", []string{"\xff"}); return err },
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left behind: %v", left)
	}
}

func stream(path string, specs []Spec, tensors ...*Tensor) error {
	w, err := CreateSafetensors(path, specs, nil)
	if err != nil {
		return err
	}
	return writeAll(w, tensors)
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func first(t *testing.T, path string, n int) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := make([]byte, n)
	if _, err := io.ReadFull(f, p); err != nil {
		t.Fatal(err)
	}
	return p
}
