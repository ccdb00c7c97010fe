package weights

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"runtime/metrics"
	"strings"
	"testing"
)

// fuzzRead opens what the fuzzer made and reads every tensor. Bugs are panics,
// hangs, results whose size does not fit their shape, and memory beyond a
// multiple of the file.
func fuzzRead(t *testing.T, name string, p []byte) {
	before := allocsSoFar()
	f, err := openBytes(name, p)
	if used := allocsSoFar() - before; used > budgetFactor*uint64(len(p))+hostileFloor {
		t.Fatalf("opening a file of %d bytes took %d bytes of memory", len(p), used)
	}
	if err != nil {
		if !strings.HasPrefix(err.Error(), "weights: "+name) {
			t.Fatalf("the error does not name the file: %v", err)
		}
		return
	}
	limit := unfoldLimit(int64(len(p)))
	for _, x := range f.Tensors() {
		if x.Size() > 1<<24 {
			continue // expanded by far: Bytes would refuse it, see below
		}
		raw, err := x.Bytes()
		if err != nil {
			continue
		}
		if int64(len(raw)) != x.Size() || (x.DType.Bits() > 0 && len(raw)*8 != x.Len()*x.DType.Bits()) {
			t.Fatalf("%q %v %v has %d bytes", x.Name, x.DType, x.Shape, len(raw))
		}
		if int64(len(raw)) > limit {
			t.Fatalf("%q: %d bytes from a file of %d", x.Name, len(raw), len(p))
		}
		if values, err := x.Float32(); err == nil && len(values) != x.Len() {
			t.Fatalf("%q %v has %d values", x.Name, x.Shape, len(values))
		}
	}
	for _, x := range f.Tensors() {
		if x.Size() > max(limit, int64(len(p))) {
			if _, err := x.Bytes(); err == nil {
				t.Fatalf("%q was unfolded to %d bytes", x.Name, x.Size())
			}
		}
	}
}

// allocsSoFar returns the bytes allocated since the start, without stopping the
// world as runtime.ReadMemStats does.
func allocsSoFar() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func FuzzSafetensors(f *testing.F) {
	for _, p := range goldenFiles(f, ".safetensors") {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.safetensors", p) })
}

func FuzzTorchLegacy(f *testing.F) {
	for _, p := range goldenFiles(f, "_legacy.pth") {
		f.Add(p)
	}
	f.Add(legacyFile(besideStateDict(pyLegacyTensor(pyLegacyRef(2, "N"), 0, []int{2}, []int{1})), legacyKeys, legacyStorage(3, 4)))
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.pth", p) })
}

// FuzzTorchZip changes whole archives, so that mostly the directory is tried: the
// checksums guard the rest.
func FuzzTorchZip(f *testing.F) {
	for _, p := range goldenFiles(f, "_zip.pth", "bad_zip_short_storage.pth", "zip_archive_prefix.pth", "zip_deflated.pth") {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.pth", p) })
}

// FuzzTorchScript changes the pickle of modules inside a sound archive, which the checksums
// of an archive would else hide.
func FuzzTorchScript(f *testing.F) {
	p, err := os.ReadFile("testdata/torchscript/clip.pt")
	if err != nil {
		f.Fatal(err)
	}
	z, err := openArchive(bytes.NewReader(p), int64(len(p)), newBudget(int64(len(p))))
	if err != nil {
		f.Fatal(err)
	}
	data, err := z.find("clip/data.pkl")
	if err != nil {
		f.Fatal(err)
	}
	pickle := make([]byte, data.size)
	if err := readAt(bytes.NewReader(p), pickle, data.off); err != nil {
		f.Fatal(err)
	}
	f.Add(pickle)
	storage := string(make([]byte, 256))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		fuzzRead(t, "x.pt", zipOf(t, zip.Store, "a/data.pkl", string(pickle), "a/constants.pkl", "N.", "a/data/0", storage, "a/data/1", storage))
	})
}

// FuzzPickle changes the pickle inside a sound archive.
func FuzzPickle(f *testing.F) {
	storage := make([]byte, 256)
	for _, p := range goldenFiles(f, "_zip.pth") {
		z, err := openArchive(bytes.NewReader(p), int64(len(p)), newBudget(int64(len(p))))
		if err != nil {
			continue
		}
		prefix, ok := torchPrefix(z)
		if !ok {
			continue
		}
		b, err := z.find(prefix + "data.pkl")
		if err != nil {
			continue
		}
		pickle := make([]byte, b.size)
		if err := readAt(b.src, pickle, b.off); err != nil {
			f.Fatal(err)
		}
		f.Add(pickle)
	}
	f.Add([]byte(pyStateDict("w", pyTensorOf("FloatStorage", 64, 0, []int{8, 8}, []int{1, 8}))))
	f.Add([]byte(besideStateDict(pyTensorOf("FloatStorage", 2, 0, []int{2}, []int{1}))))
	f.Add([]byte("(cx\nY\nK\x01o(K\x01ix\nY\ncx\nZ\n)}\x92\x87."))
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.pth", torchZip(t, string(p), storage)) })
}

func FuzzNPY(f *testing.F) {
	for _, p := range goldenFiles(f, ".npy") {
		f.Add(p)
	}
	f.Add(npyOf("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", make([]byte, 8)))
	f.Add(npyOf(npyHead("<U2", "(2,)"), make([]byte, 16)))
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.npy", p) })
}

func FuzzNPZ(f *testing.F) {
	for _, p := range goldenFiles(f, ".npz") {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzRead(t, "x.npz", p) })
}

// FuzzNames compares names that the fuzzer made with those of a network. Whatever
// prefix an error names must choose something.
func FuzzNames(f *testing.F) {
	for _, names := range []string{"a\nb", "module.a\nmodule.b", "s/_orig_mod.a\nt/_orig_mod.a", "net_a\nnet_b", "x.y.a\nx.z.a\nx.y.b\nx.z.b", "model.a\nmodel.b\nqueue", "a\n_orig_mod.a"} {
		f.Add(names, "")
		f.Add(names, "x.")
	}
	f.Fuzz(func(t *testing.T, text, prefix string) {
		file := &File{path: "net.pth", index: map[string]int32{}}
		for i, name := range strings.Split(text, "\n") {
			if _, twice := file.index[name]; twice {
				return
			}
			file.index[name] = int32(i)
			file.tensors = append(file.tensors, Tensor{Name: name})
		}
		want := []Spec{{Name: "a"}, {Name: "b"}}
		rules := Rules{Prefix: prefix, Strip: []string{"module.", "model."}, Transparent: []string{"_orig_mod"}}
		m, err := Fit(file, want, rules)
		if err == nil && len(m.Pairs) != len(want) {
			t.Fatalf("%+v", m)
		}
		if several := new(AmbiguousError); errors.As(err, &several) {
			for _, rules.Prefix = range several.Prefixes {
				if _, err := Fit(file, want, rules); errors.As(err, new(*AmbiguousError)) {
					t.Fatalf("%q: %v", rules.Prefix, err)
				}
			}
		}
		if bad := new(MismatchError); errors.As(err, &bad) && bad.Behind != "" {
			rules.Prefix = bad.Behind
			if _, err := Fit(file, want, rules); errors.As(err, &bad) && len(bad.Missing) > 0 {
				t.Fatalf("%q: %v", rules.Prefix, err)
			}
		}
	})
}
