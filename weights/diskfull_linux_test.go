package weights

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDiskLeavesTheOldFile writes in a child process that may not make files
// of more than 64 KiB, so that a write fails in the middle as on a full disk.
func TestFullDiskLeavesTheOldFile(t *testing.T) {
	const variable = "WEIGHTS_TEST_FULL_DISK"
	if dir := os.Getenv(variable); dir != "" {
		writeOnFullDisk(t, dir)
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"a.safetensors", "a.npz", "a.npy"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskLeavesTheOldFile$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "refused as it should") != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v (%v), want the three old files", entries, err)
	}
	for _, e := range entries {
		if got := content(t, filepath.Join(dir, e.Name())); string(got) != "old" {
			t.Errorf("%s is now %d bytes", e.Name(), len(got))
		}
	}
}

func writeOnFullDisk(t *testing.T, dir string) {
	// Past the limit the kernel sends a signal, whose default is to end the process.
	signal.Ignore(syscall.SIGXFSZ)
	const limit = 64 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	x := mustTensor(t, "x", []int{limit}, ramp(limit))
	for name, write := range map[string]func(path string) error{
		"a.safetensors": func(path string) error { return WriteSafetensors(path, []*Tensor{x}, nil) },
		"a.npz":         func(path string) error { return WriteNPZ(path, []*Tensor{x}) },
		"a.npy":         func(path string) error { return WriteNPY(path, x) },
	} {
		err := write(filepath.Join(dir, name))
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Logf("%s: refused as it should be: %v", name, err)
	}
}
