package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/disk"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// preparedName is where a set's file lies. Files of one owner take each other's
// place.
type preparedName struct{ dir, owner, key string }

func (n preparedName) images() string {
	return filepath.Join(n.dir, n.owner+"-"+n.key+preparedExt)
}

func (n preparedName) lock() string { return filepath.Join(n.dir, n.owner+".lock") }

const preparedExt = ".images"

// clean removes the unfinished files of killed processes, and if keep is given
// all others of the owner but that. Whoever still reads one keeps it: a mapping
// outlives its name. The lock must be held.
func (n preparedName) clean(keep string) {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		unfinished := strings.HasPrefix(e.Name(), "."+n.owner+"-")
		rest, ours := strings.CutPrefix(e.Name(), n.owner+"-")
		if unfinished || ours && keep != "" && !strings.HasPrefix(rest, keep) {
			os.Remove(filepath.Join(n.dir, e.Name()))
		}
	}
}

// preparedOwner identifies what is prepared, whatever its files hold at the
// moment: the specification and the options.
func preparedOwner(set *Set, s stamper, o PrepareOptions, wd string) string {
	kind, path, _ := strings.Cut(set.Name, ":")
	h := sha256.Sum256(fmt.Appendf(nil, "%s:%s %d %s", kind, filepath.Clean(absolute(wd, path)), o.Shorter, s.settings()))
	return hex.EncodeToString(h[:8])
}

// absolute is filepath.Abs with the working folder at hand.
func absolute(wd, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(wd, path)
}

// ErrNoRoom says that a disk has not the room for what was to be stored on it.
var ErrNoRoom = disk.ErrNoRoom

// checkRoom refuses to begin what the disk cannot hold.
func checkRoom(set *Set, o PrepareOptions) error {
	free, err := disk.Free(o.Dir)
	if err != nil {
		return err
	}
	return roomFor(estimate(set, o.Shorter), free, len(set.Items), o)
}

// roomFor leaves a twentieth of what is free.
func roomFor(need, free int64, images int, o PrepareOptions) error {
	if need > free-free/20 {
		return fmt.Errorf("%w: %d images with a shorter side of %d take about %s, %s has %s left", ErrNoRoom, images, o.Shorter, disk.Size(need), o.Dir, disk.Size(free))
	}
	return nil
}

// estimate is about how many bytes the prepared images take, from the headers of
// some of them.
func estimate(set *Set, shorter int) int64 {
	const samples = 32
	var bytes, counted int64
	step := max(len(set.Items)/samples, 1)
	for i := 0; i < len(set.Items); i += step {
		it := set.Items[i]
		file, err := set.store.content(it)
		if err != nil {
			continue
		}
		w, h, err := pixels.Size(file)
		if err != nil {
			continue
		}
		if !it.Box.Empty() {
			w, h = min(w, it.Box.Dx()), min(h, it.Box.Dy())
		}
		if min(w, h) > shorter {
			w, h = transform.ShorterSize(w, h, shorter)
		}
		bytes += 3 * int64(w) * int64(h)
		counted++
	}
	if counted == 0 {
		return 0
	}
	return bytes * int64(len(set.Items)) / counted
}
