//go:build cgo

package native

import (
	"os"
	"strings"
	"testing"
)

// mapped reports whether a file is part of this process.
func mapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	return strings.Contains(string(maps), path)
}

// NVIDIA's libraries are not made to be unloaded; a test's fakes are.
func TestLibrariesOfThisMachineStayLoaded(t *testing.T) {
	if !HostPlaces().Keep {
		t.Error("libraries of this machine are unloaded")
	}
	f := newFakes(t)
	for name, keep := range map[string]bool{"libkept.so.1": true, "liblet.so.1": false} {
		path := f.build("cublas", name)
		lib, err := openLibrary(path, keep)
		if err != nil {
			t.Fatal(err)
		}
		lib.close()
		if mapped(t, path) != keep {
			t.Errorf("%s: loaded after it is closed: %v, want %v", name, !keep, keep)
		}
	}
}

// What is released while there is a context is not released again without one.
func TestHandlesAreReleasedBeforeLibrariesAre(t *testing.T) {
	s := complete(t)
	if err := s.Detach(); err != nil {
		t.Fatal(err)
	}
	if s.Blas.handle != nil || s.Blas.lt.handle != nil || s.Dnn.handle != nil {
		t.Errorf("handles are left: cuBLAS %v, cuBLASLt %v, cuDNN %v", s.Blas.handle, s.Blas.lt.handle, s.Dnn.handle)
	}
}
