package wholefile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const random = "1234567890123456789"

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// left puts what a killed process leaves into a folder.
func left(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLeftoversGoWhenTheFileIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	left(t, dir, ".a"+random, ".a2024", ".a.swp", "a"+random, ".b"+random)
	if err := os.Symlink(".a2024", filepath.Join(dir, ".a"+random+"0")); err != nil {
		t.Skip(err)
	}
	if err := WriteBytes(filepath.Join(dir, "a"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), []string{".a.swp", ".a" + random + "0", ".a2024", ".b" + random, "a", "a" + random}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatAnotherWriterHoldsStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	first, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Cleanup()
	second, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(names(t, dir)); n != 2 {
		t.Fatalf("%d files, want one of each writer", n)
	}
	// A file whose writer has closed it is held until it has its name.
	if err := second.PendingFile.File.Close(); err != nil {
		t.Fatal(err)
	}
	Sweep(dir, "a")
	if n := len(names(t, dir)); n != 2 {
		t.Fatalf("%d files, want one of each writer", n)
	}
	second.lock.Close() // as when its process is killed
	Sweep(dir, "a")
	if got := names(t, dir); len(got) != 1 || got[0] != filepath.Base(first.Name()) {
		t.Errorf("%q, want %s alone", got, first.Name())
	}
	if _, err := first.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	if err := first.CloseAtomicallyReplace(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"a": "new"})
}

func TestTemporaryFolders(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, ".a-"+random)
	if err := os.MkdirAll(filepath.Join(old, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	first, err := NewFolder(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	second, err := NewFolder(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 2 || !IsTemporary(got[0], "a") || !IsTemporary(got[1], "a") {
		t.Errorf("%q, want two temporary folders", got)
	}
	if err := os.Rename(first.Path, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Folder{first, second} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q, want a alone", got)
	}
}
