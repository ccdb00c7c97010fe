package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// holds checks what a folder holds, by name.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := want[e.Name()]; !ok || w != string(text) {
			t.Errorf("%s holds %q, want %q", e.Name(), text, w)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d", len(entries), len(want))
	}
}

func TestAFileIsReplacedAsAWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("no more")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			t.Error(err)
		}
		return wrong
	})
	if !errors.Is(err, wrong) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want %v with the path", err, wrong)
	}
	holds(t, dir, map[string]string{"a": "old"})
	if err := WriteBytes(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"a": "new"})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v (%v), want those of before", info.Mode(), err)
	}
}

func TestALinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(t.TempDir(), "link")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := WriteBytes(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string]string{"a": "new"})
	if at, err := os.Readlink(link); err != nil || at != path {
		t.Errorf("the link leads to %q (%v)", at, err)
	}
}

func TestFoldersAndDevicesAreNotReplaced(t *testing.T) {
	for path, want := range map[string]string{t.TempDir(): "is a folder", os.DevNull: "not a regular file", filepath.Join(t.TempDir(), "none", "a"): "none"} {
		if err := WriteBytes(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", path, err, want)
		}
	}
}
