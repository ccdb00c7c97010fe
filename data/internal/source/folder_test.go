package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vernier-ml/vernier/data/internal/progress"
)

func TestFolderThatCannotBeListedIsLeftOut(t *testing.T) {
	root := t.TempDir()
	for _, class := range []string{"a", "b", "c"} {
		if err := errors.Join(os.Mkdir(filepath.Join(root, class), 0o755), os.WriteFile(filepath.Join(root, class, "aa.png"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w := folderWalk{root: root, seen: map[string]bool{}, task: progress.New(t.Context(), nil), readDir: func(dir string) ([]os.DirEntry, error) {
		if filepath.Base(dir) == "b" {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrPermission}
		}
		return os.ReadDir(dir)
	}}
	if err := w.folder(""); err != nil {
		t.Fatal(err)
	}
	slices.Sort(w.Files)
	if !slices.Equal(w.Files, []string{"a/aa.png", "c/aa.png"}) || !slices.Equal(w.closed, []string{"b (permission denied)"}) {
		t.Errorf("%q, closed %q", w.Files, w.closed)
	}
	e, err := ReadEntries(nil, listedOnly{l: &w.Listing})
	if err != nil || !slices.Equal(e.Problems, []string{"1 folder cannot be listed, and all images in it are missing: b (permission denied)"}) {
		t.Errorf("%q, %v", e.Problems, err)
	}
	w.readDir = func(string) ([]os.DirEntry, error) { return nil, fs.ErrPermission }
	w.seen = map[string]bool{}
	if err := w.folder(""); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the root: %v", err)
	}
}

// listedOnly is a tree that can be listed only.
type listedOnly struct {
	Tree
	l *Listing
}

func (s listedOnly) List(*progress.Tracker) (*Listing, error) { return s.l, nil }

func TestListingAFolderStopsInTheMiddle(t *testing.T) {
	root := t.TempDir()
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i, ".png")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		w := progress.New(ctx, func(what string, done, total int) {
			if calls++; what != listingFiles || total != 0 || done > 2048 {
				t.Errorf("%s %d/%d", what, done, total)
			}
			cancel()
		})
		time.Sleep(time.Second) // longer than between two reports
		walk := folderWalk{root: root, seen: map[string]bool{}, task: w}
		if _, err := walk.readFolder(root); !errors.Is(err, context.Canceled) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
	whole := folderWalk{root: root, seen: map[string]bool{}, task: progress.New(t.Context(), nil)}
	entries, err := whole.readFolder(root)
	if err != nil || len(entries) != 3000 || !slices.IsSortedFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }) {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
