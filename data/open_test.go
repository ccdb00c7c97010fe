package data

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/progress"
)

// Each kind of set that may be large is opened with a context that ends at once, and with
// one that ends in the middle.
func TestOpeningEndsWithItsContext(t *testing.T) {
	f := classes(t, []string{"a", "b"}, 3)
	var entries []tar.Header
	for _, class := range []string{"a", "b"} {
		for i := range 3 {
			entries = append(entries, imagetest.Regular(fmt.Sprint(class, "/", i, ".png")))
		}
	}
	plain := imagetest.Tar(t, true, entries...)
	f["t.csv"] = []byte("path,label\na/aa.png,a\nb/aa.png,b\n")
	folder := f.folder(t)
	specs := []string{"folder:" + folder, "folder:" + f.zip(t), "folder:" + imagetest.PutFile(t, "x.tar", plain), "folder:" + imagetest.PutFile(t, "x.tgz", imagetest.Gzip(plain)),
		"folder:" + imagetest.PutFile(t, "x.tar.bz2", imagetest.BzippedTar(t)), "csv:" + filepath.Join(folder, "t.csv")}
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
			if _, err := open(progress.New(ctx, nil), path, Options{}); err == nil || !strings.Contains(err.Error(), "no more time") {
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
