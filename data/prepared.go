package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/disk"
)

// The file: a head of fixed Size, the pixels, an index of all images. All
// numbers are little-endian.
const (
	preparedMagic = "vernier images 1"
	headSize      = 16 + sha256.Size + 8 + 8 + 4 // magic, key, images, place of the index, checksum of head and index
	entrySize     = 8 + 4 + 4 + 4                // place, width, height, checksum of the pixels
)

// entry is an image of the file; w = 0 means that it could not be read.
type entry struct {
	at   int64
	w, h int
	sum  uint32
}

func (e entry) bytes() int64 { return 3 * int64(e.w) * int64(e.h) }

// prepared is a store over a mapped file; store is the one it was made from.
type prepared struct {
	store
	file    string
	shorter int
	mapped  []byte
	unmap   func() error
	entries []entry
	sound   []atomic.Bool // entries whose pixels were verified
	built   bool          // by this process, just now
	damaged sync.Once
}

var errDamaged = errors.New("damaged or of another set")

// openPrepared maps a file and verifies its head, its index and its Size.
func openPrepared(file string, key [sha256.Size]byte, items int) (p *prepared, err error) {
	mapped, unmap, err := disk.Map(file)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unmap()
		}
	}()
	if len(mapped) < headSize || !bytes.Equal(mapped[:16+len(key)], append([]byte(preparedMagic), key[:]...)) {
		return nil, errDamaged
	}
	rest := mapped[16+len(key):]
	count, place := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
	if count != uint64(items) || place > uint64(len(mapped)) || uint64(len(mapped))-place != count*entrySize {
		return nil, errDamaged
	}
	index := mapped[place:]
	if crc32.Update(checksum(mapped[:headSize-4]), castagnoli(), index) != binary.LittleEndian.Uint32(rest[16:]) {
		return nil, errDamaged
	}
	p = &prepared{file: file, mapped: mapped, unmap: unmap, entries: make([]entry, items), sound: make([]atomic.Bool, items)}
	for i := range p.entries {
		b := index[i*entrySize:]
		e := entry{int64(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint32(b[8:])), int(binary.LittleEndian.Uint32(b[12:])), binary.LittleEndian.Uint32(b[16:])}
		if e.w > 0 && (e.at < headSize || e.at > int64(place)-e.bytes()) {
			return nil, errDamaged
		}
		p.entries[i] = e
	}
	return p, nil
}

// origin is an item as the original store knows it.
func (p *prepared) origin(it Item) Item {
	it.index = it.origin
	return it
}

func (p *prepared) name(it Item) string             { return p.store.name(p.origin(it)) }
func (p *prepared) content(it Item) ([]byte, error) { return p.store.content(p.origin(it)) }

// image returns a view of the mapping. Pixels are verified when they are first
// used; those that do not agree with their checksum are not: the original is decoded instead, and the file is
// removed so that it is made anew next time.
func (p *prepared) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	e := p.entries[it.index]
	if e.w > 0 {
		pix := p.mapped[e.at : e.at+e.bytes() : e.at+e.bytes()]
		if p.sound[it.index].Load() || checksum(pix) == e.sum {
			p.sound[it.index].Store(true)
			return &pixels.RGB{W: e.w, H: e.h, Stride: 3 * e.w, Pix: pix}, nil
		}
		p.damaged.Do(func() { os.Remove(p.file) })
	}
	m, err := p.store.image(ctx, p.origin(it))
	if err == nil {
		m, err = it.crop(m)
	}
	if err != nil {
		return nil, err
	}
	return transform.Shrink{Size: p.shorter}.Apply(m, nil)
}

// cropped marks a store whose images are their items' boxes already.
func (p *prepared) cropped() {}

func (p *prepared) close() error { return errors.Join(p.unmap(), p.store.close()) }

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
