//go:build cgo

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// fakes builds shared libraries that take the place of NVIDIA's, from testdata.
type fakes struct {
	t    *testing.T
	root string
}

func newFakes(t *testing.T) fakes {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not there to build libraries to load")
	}
	return fakes{t, t.TempDir()}
}

// build compiles testdata/source.c to the file (relative to the root), with
// macros such as CODE=100, and returns its path.
func (f fakes) build(source, file string, macros ...string) string {
	f.t.Helper()
	path := filepath.Join(f.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-w", "-I.", "-Wl,-soname," + filepath.Base(file), "-o", path}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	out, err := exec.Command("gcc", append(args, filepath.Join("testdata", source+".c"))...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("gcc %s: %v\n%s", source, err, out)
	}
	return path
}

// driver returns the list of files that holds a fake driver.
func (f fakes) driver(macros ...string) []string {
	return []string{f.build("driver", fmt.Sprintf("driver%d/libcuda.so.1", len(macros)), macros...)}
}

// load loads a set and closes it after the test.
func (f fakes) load(places Places, driver []string) *Set {
	f.t.Helper()
	s := load(places, driver)
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return s
}
