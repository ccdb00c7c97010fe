//go:build cgo

package native

import (
	"strings"
	"testing"
	"unsafe"
)

func TestARefusedModuleSaysWhatTheCompilerSays(t *testing.T) {
	d := complete(t).Driver
	_, err := d.LoadModule("// refused")
	if err == nil || !strings.Contains(err.Error(), "cuModuleLoadDataEx: an error (CUDA_ERROR, error 218); the driver's compiler says: ptxas application ptx input, line 7; fatal : Parsing error near '.rfused'") {
		t.Errorf("got %v", err)
	}
}

func TestKernelsOfAModuleAreLaunched(t *testing.T) {
	s := complete(t)
	d := s.Driver
	m, err := d.LoadModule("// some text")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Function(m, "absent"); err == nil || !strings.Contains(err.Error(), "cuModuleGetFunction: an error (CUDA_ERROR, error 500)") {
		t.Errorf("a kernel that is not there: %v", err)
	}
	f, err := d.Function(m, "four")
	if err != nil {
		t.Fatal(err)
	}
	v, p := pinned(t, s, 0)
	if err := d.Launch(f, [3]int{2, 3, 4}, 256, []uint64{uint64(p), 42}, 7); err != nil {
		t.Fatal(err)
	}
	if got := *(*int32)(unsafe.Pointer(&v[0])); got != 42 {
		t.Errorf("the kernel stored %d, want 42", got)
	}
	if err := d.Launch(f, [3]int{2, 3, 4}, 256, []uint64{uint64(p), 42}, 8); err == nil || !strings.Contains(err.Error(), "cuLaunchKernel: an error (CUDA_ERROR, error 1)") {
		t.Errorf("a launch that fails: %v", err)
	}
	if err := d.UnloadModule(m); err != nil {
		t.Error(err)
	}
}
