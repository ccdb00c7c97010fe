//go:build cgo

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// VERNIER_CUDA_WHEELS names a virtual environment into which pip has installed
// the libraries of one release; bench/cudawheels.py makes such and runs this.
func TestRealLibrariesLoad(t *testing.T) {
	folder := os.Getenv("VERNIER_CUDA_WHEELS")
	if folder == "" {
		t.Skip("VERNIER_CUDA_WHEELS names no environment with NVIDIA's libraries: make cuda-wheels-check does")
	}
	f := newFakes(t)
	places := FindPlaces(func(name string) string {
		return map[string]string{"VIRTUAL_ENV": folder}[name]
	})
	version := "VERSION=13000"
	if old, _ := filepath.Glob(filepath.Join(folder, "lib", "python3*", "site-packages", "nvidia", "cublas", "lib", "libcublas.so.12")); len(old) > 0 {
		version = "VERSION=12000" // the oldest driver of that release serves it
	}
	s := f.load(places, f.driver(version))
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.LoadNccl(); err != nil {
		t.Error(err)
	}
	for _, lib := range s.Report.Libraries {
		t.Logf("found: %s %s", lib.Name, lib.Version)
		if !strings.HasPrefix(lib.Path, folder) {
			t.Errorf("%s is %s, not one in %s", lib.Name, lib.Path, folder)
		}
	}
	if s.Blas.lt == nil {
		t.Error("cuBLASLt is not used: its table is not filled")
	}
	if len(s.helper) != 2 {
		t.Errorf("%d libraries loaded beside cuBLAS, want cuBLASLt and NVRTC", len(s.helper))
	}
	for _, lib := range s.helper {
		if !strings.HasPrefix(lib.path, folder) {
			t.Errorf("%s is not one in %s", lib.path, folder)
		}
	}
	// Without a GPU both must fail, in words.
	if err := s.Blas.Attach(device.Stream(0)); err == nil {
		t.Error("cuBLAS has a handle without a GPU")
	} else {
		t.Log(err)
	}
}
