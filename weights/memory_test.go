package weights

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// bigFiles writes the same tensors in each format and returns the paths.
func bigFiles(t testing.TB, tensors, elems int) []string {
	t.Helper()
	dir := t.TempDir()
	var all []*Tensor
	var items []string
	for i := range tensors {
		name := fmt.Sprintf("layer%d.weight", i)
		all = append(all, mustTensor(t, name, []int{elems / 4, 4}, ramp(elems)))
		// Every other tensor is a transposed view.
		size, stride := []int{elems / 4, 4}, []int{4, 1}
		if i%2 == 1 {
			stride = []int{1, elems / 4}
		}
		items = append(items, name, pyTensorOf("FloatStorage", elems*tensors, i*elems, size, stride))
	}
	paths := []string{filepath.Join(dir, "a.safetensors"), filepath.Join(dir, "a.npz"), filepath.Join(dir, "a.pth"), filepath.Join(dir, "legacy.pth")}
	if err := WriteSafetensors(paths[0], all, nil); err != nil {
		t.Fatal(err)
	}
	if err := WriteNPZ(paths[1], all); err != nil {
		t.Fatal(err)
	}
	storage := make([]byte, 0, 4*tensors*elems)
	for _, x := range all {
		p, err := x.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		storage = append(storage, p...)
	}
	pickle := pyStateDict(items...)
	if err := os.WriteFile(paths[2], torchZip(t, pickle, storage), 0o644); err != nil {
		t.Fatal(err)
	}
	head := binary.LittleEndian.AppendUint64(nil, uint64(tensors*elems))
	if err := os.WriteFile(paths[3], append(legacyFile(pickle, legacyKeys, head), storage...), 0o644); err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestLoadingTakesLittleMoreThanTheResult counts every byte allocated, live or
// not, against 1.3 times the file.
func TestLoadingTakesLittleMoreThanTheResult(t *testing.T) {
	const tensors, elems = 16, 1 << 17 // 8 MiB
	for _, path := range bigFiles(t, tensors, elems) {
		runtime.GC()
		var got map[string][]float32
		used := allocated(func() {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var want []Spec
			for _, x := range f.Tensors() {
				want = append(want, Spec{Name: x.Name, Shape: x.Shape})
			}
			if got, _, err = Load(f, want, Rules{}); err != nil {
				t.Fatal(err)
			}
		})
		size := int64(4 * tensors * elems)
		if len(got) != tensors || used > size*13/10 {
			t.Errorf("%s: %d tensors, %d bytes for %d, limit 1.3 times", filepath.Base(path), len(got), used, size)
		}
		t.Logf("%s: %.3f times the size", filepath.Base(path), float64(used)/float64(size))
	}
}

func TestTensorsAreReadConcurrently(t *testing.T) {
	for name := range goldenFiles(t, "mixed_zip.pth", "zip_deflated.pth", "vit_google_compressed.npz") {
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for _, x := range f.Tensors() {
					if _, err := x.Float32(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
}

func BenchmarkLoad(b *testing.B) {
	const tensors, elems = 16, 1 << 18
	for _, path := range bigFiles(b, tensors, elems) {
		b.Run(filepath.Base(path), func(b *testing.B) {
			b.SetBytes(4 * tensors * elems)
			b.ReportAllocs()
			for b.Loop() {
				if err := readFloats(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func readFloats(path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, x := range f.Tensors() {
		if _, err := x.Float32(); err != nil {
			return err
		}
	}
	return nil
}
