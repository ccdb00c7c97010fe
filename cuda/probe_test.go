package cuda

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// The layout is that of the driver's own files (version 550).
func TestProbeReadsTheDriversFiles(t *testing.T) {
	root := t.TempDir()
	gpu := filepath.Join(root, "gpus", "0000:01:00.0")
	if err := os.MkdirAll(gpu, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "version"), "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version:  gcc 12\n")
	write(filepath.Join(gpu, "information"), "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 99\n")
	want := Machine{
		Driver: "NVIDIA UNIX x86_64 Kernel Module 550.54.15 Tue Mar 5 22:23:56 UTC 2024",
		GPUs:   []string{"NVIDIA H100 80GB HBM3"},
	}
	if got := probe(root, filepath.Join(root, "absent")); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestProbeOfAMachineWithoutDriverIsEmpty(t *testing.T) {
	if got := probe(filepath.Join(t.TempDir(), "absent"), ""); got.Driver != "" || got.GPUs != nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestProbeSeesTheDriverOfWSL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := probe(filepath.Join(t.TempDir(), "absent"), file); got.Driver == "" {
		t.Error("no driver is seen")
	}
}
