package fetch

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/internal/disk"
	"github.com/vernier-ml/vernier/internal/download"
)

// Options say how Get fetches. The zero value is fine.
type Options struct {
	// Mirror, if not "", is the address of a folder that holds the files under
	// their own names; they must have the same checksums.
	Mirror string
	Client *http.Client
	// Tries is how often in a row a transfer may break off without a byte; 0
	// means 5. Pause is the time before the second try, doubled for every other;
	// 0 means a second.
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

// Get fetches the files of a set into a folder, verifies their checksums, and
// unpacks what has to be. A transfer that was broken off continues where it
// stopped, in this call or in a later one. Files that are there already are
// verified and kept; nothing is ever overwritten.
func Get(ctx context.Context, d Set, dir string, o Options) error {
	if d.Unpack != "" {
		if _, err := os.Lstat(filepath.Join(dir, d.Unpack)); err == nil {
			return fmt.Errorf("%s: %w; it is not touched", filepath.Join(dir, d.Unpack), ErrInTheWay)
		}
	}
	for _, f := range d.Files {
		file := download.File{Name: f.Name, URL: f.URL, Sum: download.MD5(f.MD5)}
		if o.Mirror != "" {
			file.URL = strings.TrimSuffix(o.Mirror, "/") + "/" + f.Name
		}
		err := download.Get(ctx, file, dir, download.Options{Client: o.Client, Tries: o.Tries, Pause: o.Pause, Progress: o.Progress})
		if err != nil {
			return err
		}
	}
	if d.Unpack != "" {
		return unpackFolder(ctx, filepath.Join(dir, d.Files[0].Name), dir, d.Unpack)
	}
	return nil
}
