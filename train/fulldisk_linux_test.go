package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

// TestASmallDiskFillsUpDuringASave fills a real file system of 24 MiB. It needs
// the right to mount one; TestAFullDiskLeavesThePreviousCheckpointWhole does not.
func TestASmallDiskFillsUpDuringASave(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	c := longer(t)
	straight := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 6)
	defer straight.Close()
	s := runTo(t, c, run.Folder(filepath.Join(disk, "run")), run.DefaultOutput(), 2)
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	if err := s.Train(context.Background()); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "stays and is whole") {
		t.Fatalf("got %v", err)
	}
	s.Close()
	if left, _ := filepath.Glob(s.folder.Path(".*")); len(left) != 1 { // the lock
		t.Errorf("left behind: %v", left)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	continueTo(t, s, all(t, straight))
}

// fill leaves room for the log, but not for a model.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	size := int64(0)
	for {
		n, err := f.Write(block)
		size += int64(n)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(size - 128<<10); err != nil {
		t.Fatal(err)
	}
}
