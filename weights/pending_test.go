package weights

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// failing is a tensor whose numbers cannot be read to the end.
func failing(name string, n int) *Tensor {
	size := int64(4 * n)
	b := &blob{scratch: new(scratch), src: failingReader{}, pack: size, size: size, limit: size, what: name}
	return &Tensor{Name: name, Shape: []int{n}, data: view{data: b, nbytes: size, width: 4}}
}

type failingReader struct{}

func (failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, errors.New("the disk went away")
	}
	return len(p), nil
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	good, bad := mustTensor(t, "good", []int{2}, ramp(2)), failing("bad", 1<<20)
	for name, write := range map[string]func() error{
		"safetensors": func() error { return WriteSafetensors(path, []*Tensor{good, bad}, nil) },
		"npz":         func() error { return WriteNPZ(path, []*Tensor{good, bad}) },
		"npy":         func() error { return WriteNPY(path, bad) },
		"npz closed after a failure": func() error {
			w, err := CreateNPZ(path)
			if err != nil {
				return err
			}
			_ = w.Write(bad)
			return w.Close()
		},
		"safetensors closed after a failure": func() error {
			w, err := CreateSafetensors(path, []Spec{{Name: "bad", Shape: bad.Shape}}, nil)
			if err != nil {
				return err
			}
			if err := w.Write(bad); err == nil {
				t.Error("the failure was not reported")
			}
			return w.Close()
		},
		"aborted": func() error {
			w, err := CreateNPZ(path)
			if err != nil {
				return err
			}
			w.Abort()
			w.Abort()
			return w.Close()
		},
	} {
		if err := write(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := content(t, path); string(got) != "old" {
			t.Errorf("%s: the old file is now %q", name, got)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s: files are left behind: %v", name, left)
		}
	}
}

func TestReplacedFileKeepsItsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a.npy"), filepath.Join(dir, "link.npy")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.npy", link); err != nil {
		t.Skip(err)
	}
	x := mustTensor(t, "", []int{2}, ramp(2))
	if err := WriteNPY(link, x); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v, %v", info.Mode(), err)
	}
	sameTensors(t, reopen(t, path).Tensors(), []*Tensor{x})
}
