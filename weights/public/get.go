package public

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/internal/disk"
	"github.com/vernier-ml/vernier/internal/download"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/internal/zipfile"
)

// Options say how Get fetches. The zero value is fine.
type Options struct {
	// Dir is where the file is put; "" means CacheDir.
	Dir string
	// Mirror, if not "", is the address of a folder that holds the files under the last
	// part of their addresses; they must have the same checksums.
	Mirror string
	Client *http.Client
	// Tries is how often in a row a transfer may break off without a byte; 0 means 5.
	// Pause is the time before the second try, doubled for every other; 0 means a second.
	Tries    int
	Pause    time.Duration
	Progress func(file string, done, total int64) // total is 0 if it is not known
}

// Reasons why a file is not fetched; errors.Is finds them.
var (
	ErrNoRoom        = disk.ErrNoRoom // the disk is full, or would be
	ErrWrongChecksum = download.ErrWrongChecksum
	ErrInTheWay      = download.ErrInTheWay // another file has its name
)

// CacheDir is where public files are kept: vernier/weights in the user's cache folder.
func CacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(cache, "vernier", "weights"), nil
}

// Path is where Get puts the file by default, whether it is there or not.
func (f File) Path() (string, error) {
	dir, err := CacheDir()
	return filepath.Join(dir, f.FileName()), err
}

// At returns the file whose place in the cache a path is.
func At(path string) (File, bool) {
	for _, f := range Files() {
		if own, err := f.Path(); err == nil && own == path {
			return f, true
		}
	}
	return File{}, false
}

// Get fetches a file, verifies its checksum where one is published, and returns where it
// is. A transfer that was broken off continues where it stopped. A file that is there
// already is verified and kept; nothing is ever overwritten.
func Get(ctx context.Context, f File, o Options) (string, error) {
	if o.Dir == "" {
		dir, err := CacheDir()
		if err != nil {
			return "", err
		}
		o.Dir = dir
	}
	final := filepath.Join(o.Dir, f.FileName())
	if f.Member != "" {
		switch err := digits(f.MemberSHA256).Verify(final); {
		case err == nil:
			return final, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%s: %w: %w; it is not touched", final, ErrInTheWay, err)
		}
	}
	from := download.File{Name: f.FileName(), URL: f.URL, Sum: digits(f.SHA256)}
	last := f.URL[strings.LastIndexByte(f.URL, '/')+1:]
	if f.Member != "" {
		from.Name = last
	}
	if o.Mirror != "" {
		from.URL = strings.TrimSuffix(o.Mirror, "/") + "/" + last
	}
	err := download.Get(ctx, from, o.Dir, download.Options{Client: o.Client, Tries: o.Tries, Pause: o.Pause, Progress: o.Progress})
	switch {
	case ctx.Err() != nil:
		return "", err
	case err != nil && !errors.Is(err, ErrNoRoom) && !errors.Is(err, ErrInTheWay):
		return "", fmt.Errorf("%w\n%s", err, f.byHand(o.Dir, last))
	case err != nil:
		return "", err
	}
	if f.Member != "" {
		if err := f.unpack(filepath.Join(o.Dir, from.Name), final); err != nil {
			return "", err
		}
	}
	return final, nil
}

// byHand says what someone can do whose computer does not reach the address.
func (f File) byHand(dir, last string) string {
	sum := ""
	if f.SHA256 != "" {
		sum = fmt.Sprintf(" (its SHA-256 begins with %s)", f.SHA256[:8])
	}
	return fmt.Sprintf("to do it by hand: fetch %s%s with whatever reaches it, put it into %s under the name %s, and give the same command again", f.URL, sum, dir, last)
}

// unpack writes the file that an archive holds, and removes the archive.
func (f File) unpack(archive, final string) error {
	r, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	z, err := zipfile.NewReader(r, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	m, err := z.Open(f.Member)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	defer m.Close()
	w, err := wholefile.Create(final)
	if err != nil {
		return err
	}
	defer w.Cleanup()
	if _, err := io.Copy(w, m); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, download.DiskError(err, archive))
	}
	if err := digits(f.MemberSHA256).Verify(w.Name()); err != nil {
		return fmt.Errorf("%s: %s: %w", archive, f.Member, err)
	}
	if err := w.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("unpacking %s: %w", archive, download.DiskError(err, archive))
	}
	return os.Remove(archive)
}

func digits(sha256 string) download.Checksum {
	if sha256 == "" {
		return ""
	}
	return download.SHA256(sha256)
}
