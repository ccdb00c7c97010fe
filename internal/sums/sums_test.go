package sums

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Of printf 2 | sha256sum and printf 3 | sha256sum.
const (
	sumOf2 = "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"
	sumOf3 = "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce"
)

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	fatal(t, os.WriteFile(path, []byte(text), 0o644))
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds\n%s, want\n%s (%v)", filepath.Base(path), got, want, err)
	}
}

func TestSumsOfOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FolderFile)
	write(t, filepath.Join(dir, "a"), "1")
	write(t, filepath.Join(dir, "b c"), "2")
	fatal(t, WriteFolder(dir, []string{"a", "b c"}))
	write(t, filepath.Join(dir, "a"), "3")
	fatal(t, WriteFolder(dir, []string{"a"}))
	want := sumOf3 + "  a\n" + sumOf2 + "  b c\n"
	holds(t, file, want)
	write(t, file, want+"what?\n")
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), FolderFile+", line 3") {
		t.Errorf("a line that is none: %v", err)
	}
}

// TestLinesAsSha256sumWritesThem: a binary file has a star, and a line begins with a
// backslash if its name is escaped.
func TestLinesAsSha256sumWritesThem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FolderFile)
	write(t, filepath.Join(dir, "a\\b\nc"), "2")
	fatal(t, WriteFolder(dir, []string{"a\\b\nc"}))
	escaped := `\` + sumOf2 + `  a\\b\nc` + "\n"
	holds(t, file, escaped)
	write(t, file, escaped+strings.ToUpper(sumOf3)+" *binary\n"+sumOf3+"  ./here\n")
	s, err := Read(file)
	fatal(t, err)
	if got, want := s.Names(), []string{"a\\b\nc", "binary", "here"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	write(t, filepath.Join(dir, "binary"), "3")
	for _, name := range []string{"a\\b\nc", "binary", "unlisted"} {
		if err := s.Check(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestWhatDiffersOrIsMissingIsSaid(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	sign := func(text string) {
		fatal(t, Sign(path, func() ([]string, error) {
			if _, err := os.Stat(Beside(path)); err == nil {
				t.Error("the old checksum is beside the new file")
			}
			return []string{"a"}, os.WriteFile(path, []byte(text), 0o644)
		}))
		if err := Check(path); err != nil {
			t.Error(err)
		}
	}
	sign("2")
	sign("3")
	holds(t, Beside(path), sumOf3+"  a\n")
	write(t, path, "2")
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "a is not what a.sha256 beside it says") {
		t.Errorf("another file: %v", err)
	}
	fatal(t, os.Remove(path))
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "a is missing, and a.sha256 beside it has its checksum") {
		t.Errorf("no file: %v", err)
	}
	fatal(t, syscall.Mkfifo(path, 0o644))
	if err := Check(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a named pipe: %v", err)
	}
	fatal(t, os.Remove(Beside(path)))
	if err := Check(path); err != nil {
		t.Errorf("without a checksum: %v", err)
	}
}
