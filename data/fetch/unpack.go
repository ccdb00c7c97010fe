package fetch

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/internal/download"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// unpackFolder writes what a .tgz holds below its folder root to dir/root, which
// appears when all of it is there. Links and what lies elsewhere in the archive
// are left out.
func unpackFolder(ctx context.Context, archive, dir, root string) (err error) {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: damaged gzip file: %w", archive, err)
	}
	folder, err := wholefile.NewFolder(dir, root)
	if err != nil {
		return err
	}
	defer folder.Remove()
	partial := folder.Path
	files := 0
	for t := tar.NewReader(z); ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: damaged tar archive: %w", archive, err)
		}
		name, ok := source.EntryName(h.Name)
		inside, below := strings.CutPrefix(name, root+"/")
		if h.Typeflag != tar.TypeReg || !ok || !below || source.IsJunk(inside) {
			continue
		}
		if err := writeEntry(filepath.Join(partial, filepath.FromSlash(inside)), t); err != nil {
			return fmt.Errorf("unpacking %s: %w", archive, download.DiskError(err, archive))
		}
		files++
	}
	if files == 0 {
		return fmt.Errorf("%s: no folder %s in it", archive, root)
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return err
	}
	return os.Rename(partial, filepath.Join(dir, root))
}

func writeEntry(name string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
