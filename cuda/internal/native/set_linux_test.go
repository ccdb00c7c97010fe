//go:build cgo

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wants checks that a set is unusable for one reason, which holds every text.
func wants(t *testing.T, s *Set, texts ...string) {
	t.Helper()
	if s.Blas != nil || len(s.Report.Problems) != 1 {
		t.Fatalf("problems %v, libraries %v; want one problem", s.Report.Problems, s.Report.Libraries)
	}
	for _, text := range texts {
		if got := s.Report.Err().Error(); !strings.Contains(got, text) {
			t.Errorf("%q does not say %q", got, text)
		}
	}
}

func TestWithoutADriverTheReportSaysSo(t *testing.T) {
	s := load(Places{}, []string{filepath.Join(t.TempDir(), "libcuda.so.1")})
	wants(t, s, "no NVIDIA driver", "--gpus all")
	if !s.Report.Problems[0].NoDriver {
		t.Error("it does not say that this is all")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestADriverThatDoesNotLoadIsNotCalledAbsent(t *testing.T) {
	f := newFakes(t)
	text := filepath.Join(f.root, "text", "libcuda.so.1")
	touch(t, text)
	wants(t, f.load(Places{}, []string{text}), "no library for this machine", text, "remove that file")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a library\n", 100)), 0o755); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(f.root, "absent", "libcuda.so.1")
	s := f.load(Places{}, []string{absent, text})
	wants(t, s, "no library for this machine", text, "LD_LIBRARY_PATH")
	if s.Report.Problems[0].NoDriver {
		t.Error("a file in the driver's place is reported as no driver")
	}

	needed := f.build("cublas", "gone/libneeded.so.2")
	whole := filepath.Join(f.root, "needy", "libcuda.so.1")
	if err := os.MkdirAll(filepath.Dir(whole), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-I.", "-Wl,--no-as-needed", "-o", whole, filepath.Join("testdata", "driver.c"), needed).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Remove(needed); err != nil {
		t.Fatal(err)
	}
	s = f.load(Places{}, []string{whole})
	wants(t, s, "there is a "+whole, "not the libneeded.so.2 that it needs", "all of the driver's packages")
	if s.Report.Problems[0].NoDriver {
		t.Error("a driver with a missing part is reported as none")
	}
}

func TestADriverThatCannotServe(t *testing.T) {
	f := newFakes(t)
	for _, c := range []struct {
		name   string
		macros []string
		want   []string
	}{
		{"no device by cuInit", []string{"CODE=100"}, []string{"no GPU", "CUDA_VISIBLE_DEVICES"}},
		{"no device by its count", []string{"DEVICES=0", "A"}, []string{"CUDA 13.0", "no GPU", "nvidia-smi"}},
		{"old driver", []string{"VERSION=11040", "A", "B"}, []string{"CUDA 11.4", "12.0 is needed", "525"}},
		{"old GPU", []string{"MAJOR=6", "A", "B", "C"}, []string{"Imaginary 100", "6.0", "7.0 is needed"}},
		{"mismatch", []string{"CODE=803", "A", "B", "C", "D"}, []string{"error 803", "reboot"}},
		{"another code", []string{"CODE=3", "A", "B", "C", "D", "E"}, []string{"an error", "error 3"}},
		{"a symbol is missing", []string{"cuGraphLaunch=gone", "A", "B", "C", "D", "E", "F"}, []string{"lacks cuGraphLaunch", "newer driver"}},
	} {
		t.Run(c.name, func(t *testing.T) { wants(t, f.load(Places{}, f.driver(c.macros...)), c.want...) })
	}
}

// One GPU that cannot be used, or not even be described, is no other's trouble.
func TestSeveralGPUsAreReportedEachWithItsTrouble(t *testing.T) {
	f := newFakes(t)
	const major = "MAJOR=device==0?6:9"
	s := f.load(Places{}, f.driver("DEVICES=3", major, "FAILS=2"))
	d := s.Report.Devices
	if len(d) != 3 || !strings.Contains(d[0].Trouble.Error(), "6.0, 7.0 is needed") || d[1].Trouble != (Problem{}) || !strings.Contains(d[2].Trouble.Error(), "error 3") {
		t.Errorf("devices %+v", d)
	}
	if p := s.Report.Problems; len(p) != 1 || !strings.Contains(p[0].What, "cuBLAS") {
		t.Errorf("problems %v, want that of cuBLAS alone: cuda:1 can be used", p)
	}
	s = f.load(Places{}, f.driver("DEVICES=2", major, "FAILS=1", "A"))
	got := s.Report.Err().Error()
	if len(s.Report.Problems) != 2 || !strings.Contains(got, "cuda:0: Imaginary 100 has") || !strings.Contains(got, "cuda:1: ") {
		t.Errorf("none can be used: %q", got)
	}
}

func TestMissingLibrariesAreNamedWithTheirPackages(t *testing.T) {
	f := newFakes(t)
	driver := f.driver()
	wants(t, f.load(Places{}, driver), "cuBLAS is missing", "libcublas.so.13 is not found", "nvidia-cublas,", PathVariable)
	wants(t, f.load(Places{}, f.driver("VERSION=12040")), "libcublas.so.12 is not found", "nvidia-cublas-cu12", "libcublas-12-0")

	own := Places{Own: []string{filepath.Join(f.root, "own")}}
	wants(t, f.load(own, driver), "cuBLAS is missing", PathVariable+", which now has "+own.Own[0]+": there is no such folder")
	f.build("cublas", "own/libcublas.so.13")
	wants(t, f.load(own, driver), "cuDNN is missing", "libcudnn.so.9", "nvidia-cudnn-cu13")

	f.build("cudnn", "own/libcudnn.so.9", "CUDA=12040")
	wants(t, f.load(own, driver), "cuDNN is missing", "is for CUDA 12.4")

	old := Places{Own: []string{filepath.Join(f.root, "old")}}
	f.build("cublas", "old/libcublas.so.13")
	f.build("cudnn", "old/libcudnn.so.8", "VERSION=8400")
	wants(t, f.load(old, driver), "is cuDNN 8.4.0, 8.9.0 or newer")

	broken := Places{Own: []string{filepath.Join(f.root, "broken")}}
	f.build("cublas", "broken/libcublas.so.13", "WITHOUT_GEMM")
	wants(t, f.load(broken, driver), "libcublas.so.13", "lacks cublasGemmEx")

	liar := Places{Own: []string{filepath.Join(f.root, "liar")}}
	f.build("cublas", "liar/libcublas.so.13", "MAJOR=12")
	wants(t, f.load(liar, driver), "is of release 12")
}

// Wheels of Python keep a folder a package up to CUDA 12, and one for all since.
func TestLibrariesAreFoundInPythonsPackages(t *testing.T) {
	f := newFakes(t)
	driver := f.driver()
	site := filepath.Join(f.root, "site-packages")
	f.build("cublas", "site-packages/nvidia/cublas/lib/libcublas.so.12", "MAJOR=12")
	f.build("cudnn", "site-packages/nvidia/cudnn/lib/libcudnn.so.9", "CUDA=12060", "VERSION=90501")
	s := f.load(Places{Python: []string{site}}, driver)
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Report.Libraries; got[0].Version != "12.1.2" || got[1].Version != "9.5.1" || !strings.HasPrefix(got[1].Path, site) {
		t.Errorf("found %v", got)
	}
	if d := s.Report.Devices; len(d) != 1 || d[0] != (Device{Name: "Imaginary 100", Major: 9, Bytes: 80 << 30}) {
		t.Errorf("devices %v", d)
	}

	f.build("cublas", "site-packages/nvidia/cu13/lib/libcublas.so.13")
	f.build("cudnn", "site-packages/nvidia/cu13/lib/libcudnn.so.9", "VERSION=91300")
	s = f.load(Places{Python: []string{site}}, driver)
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Report.Libraries; got[0].Version != "13.1.2" || got[1].Version != "9.13.0" {
		t.Errorf("with both releases: %v, want the newer one", got)
	}
	// A driver of CUDA 12 cannot run libraries of CUDA 13.
	s = f.load(Places{Python: []string{site}}, f.driver("VERSION=12090"))
	if got := s.Report.Libraries; len(got) != 2 || got[0].Version != "12.1.2" {
		t.Errorf("with a driver of CUDA 12: %v, %v", got, s.Report.Problems)
	}
}

func TestOwnFoldersComeFirst(t *testing.T) {
	f := newFakes(t)
	f.build("cublas", "own/lib/libcublas.so.13")
	f.build("cudnn", "own/lib64/libcudnn.so.9")
	f.build("cublas", "cuda/lib64/libcublas.so.13")
	p := Places{Own: []string{filepath.Join(f.root, "own")}, Install: []string{filepath.Join(f.root, "cuda")}}
	s := f.load(p, f.driver())
	if err := s.Report.Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Report.Libraries[0].Path; !strings.HasPrefix(got, p.Own[0]) {
		t.Errorf("took %s", got)
	}
}
