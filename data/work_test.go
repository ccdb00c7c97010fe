package data

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkTellsTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		w := newWork(t.Context(), func(what string, done, total int) { told = append(told, fmt.Sprintf("%s %d/%d", what, done, total)) })
		for i := range 8 {
			if err := w.step("a", i, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(40 * time.Millisecond)
		}
		w.end("a", 8)
		w.end("b", 1) // which nobody was told of
		if want := []string{"a 3/0", "a 6/0", "a 8/8"}; !slices.Equal(told, want) {
			t.Errorf("%q", told)
		}
	})
}

// Each kind of set that may be large is opened with a context that ends at once, and with
// one that ends in the middle.
func TestOpeningEndsWithItsContext(t *testing.T) {
	f := classes(t, []string{"a", "b"}, 3)
	var entries []tar.Header
	for _, class := range []string{"a", "b"} {
		for i := range 3 {
			entries = append(entries, regular(fmt.Sprint(class, "/", i, ".png")))
		}
	}
	plain := tarFile(t, true, entries...)
	f["t.csv"] = []byte("path,label\na/aa.png,a\nb/aa.png,b\n")
	folder := f.folder(t)
	specs := []string{"folder:" + folder, "folder:" + f.zip(t), "folder:" + putFile(t, "x.tar", plain), "folder:" + putFile(t, "x.tgz", gzipped(plain)),
		"folder:" + putFile(t, "x.tar.bz2", bzippedTar(t)), "csv:" + filepath.Join(folder, "t.csv")}
	for _, spec := range specs {
		for _, after := range []time.Duration{0, time.Nanosecond} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("no more time"))
			<-ctx.Done()
			// The kind's own opener is asked, since Open looks at the context first.
			kind, path, _ := strings.Cut(spec, ":")
			open := openFolder
			if kind == "csv" {
				open = openCSV
			}
			if _, err := open(newWork(ctx, nil), path, Options{}); err == nil || !strings.Contains(err.Error(), "no more time") {
				t.Errorf("%s: %v", filepath.Base(path), err)
			}
			cancel()
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	if _, err := OpenImages(ctx, []string{folder}, Options{}); err == nil || !strings.Contains(err.Error(), "no more time") {
		t.Errorf("images: %v", err)
	}
}

func TestListingAFolderStopsInTheMiddle(t *testing.T) {
	root := t.TempDir()
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i, ".png")), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	w := newWork(ctx, func(what string, done, total int) {
		if calls++; what != listingFiles || total != 0 || done > 2048 {
			t.Errorf("%s %d/%d", what, done, total)
		}
		cancel()
	})
	w.told = time.Time{}
	walk := folderWalk{root: root, seen: map[string]bool{}, task: w}
	if _, err := walk.readFolder(root); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	whole := folderWalk{root: root, seen: map[string]bool{}, task: newWork(t.Context(), nil)}
	entries, err := whole.readFolder(root)
	if err != nil || len(entries) != 3000 || !slices.IsSortedFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }) {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
