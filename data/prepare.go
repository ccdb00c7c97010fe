package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/google/renameio/v2"
)

// PrepareOptions say where and how decoded images are kept.
type PrepareOptions struct {
	// Dir is the folder of the prepared files; "" means vernier in the user's
	// cache folder.
	Dir string
	// Shorter is the shorter side that larger images are resized to (bilinear,
	// antialiased); smaller ones are kept as they are. 0 means 256.
	Shorter  int
	Workers  int // 0 means one a CPU
	Progress func(done, total int)
}

// Prepare returns the set with its images decoded and resized beforehand, in one
// file that is mapped into memory. The file is made on first use, and again when
// the list, a file's size or time, or an option changed, or when it is damaged.
// Several processes may prepare one set at once.
//
// Evaluation that begins with a resize of the shorter side to Shorter gives the
// same numbers from it, to the bit; random crops see the resized image instead
// of the original.
//
// The result takes set over: closing it closes both. Sets that need no decoding
// (glyphs, MNIST) are returned as they are. Unreadable images stay so.
func Prepare(ctx context.Context, set *Set, o PrepareOptions) (*Set, error) {
	inner, ok := set.store.(stamper)
	if !ok {
		return set, nil
	}
	if o.Shorter == 0 {
		o.Shorter = 256
	}
	if o.Shorter < 1 {
		return nil, fmt.Errorf("prepare: shorter side %d, it must be positive", o.Shorter)
	}
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("prepare: no cache folder: %w", err)
		}
		o.Dir = filepath.Join(cache, "vernier")
	}
	key := preparedKey(set, inner, o)
	file := filepath.Join(o.Dir, hex.EncodeToString(key[:12])+".images")
	p, err := openPrepared(file, key, len(set.Items))
	if err != nil {
		if err := build(ctx, set, file, key, o); err != nil {
			return nil, fmt.Errorf("preparing %s: %w", set.Name, err)
		}
		if p, err = openPrepared(file, key, len(set.Items)); err != nil {
			return nil, fmt.Errorf("preparing %s: %w", set.Name, err)
		}
	}
	p.store, p.file, p.shorter = set.store, file, o.Shorter
	out := *set
	out.Items = make([]Item, len(set.Items))
	for i, it := range set.Items {
		it.index, it.origin = i, it.index
		out.Items[i] = it
	}
	out.store = p
	return &out, nil
}

// stamper is a store whose items' files tell cheaply whether they changed.
type stamper interface {
	stamp(Item) (string, error)
	// settings says how files are decoded.
	settings() string
}

// preparedKey is what the prepared file must have been made from.
func preparedKey(set *Set, s stamper, o PrepareOptions) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d %s\n", preparedMagic, o.Shorter, len(set.Items), s.settings())
	for _, it := range set.Items {
		stamp, err := s.stamp(it)
		if err != nil { // a missing file: unreadable now, and prepared again once it is there
			stamp = err.Error()
		}
		fmt.Fprintf(h, "%q %s %v\n", set.store.name(it), stamp, it.Box)
	}
	h.Sum(key[:0])
	return key
}

// The file: a head of fixed size, the pixels, an index of all images. All
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

// build decodes all images into a new file, which replaces the old one in a
// single step once it is complete.
func build(ctx context.Context, set *Set, file string, key [sha256.Size]byte, o PrepareOptions) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(file, renameio.WithTempDir(filepath.Dir(file)), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	entries := make([]entry, len(set.Items))
	place, err := fillPrepared(ctx, set, f.File, entries, o)
	if err != nil {
		return err
	}
	index := make([]byte, 0, len(entries)*entrySize)
	for _, e := range entries {
		index = binary.LittleEndian.AppendUint64(index, uint64(e.at))
		index = binary.LittleEndian.AppendUint32(index, uint32(e.w))
		index = binary.LittleEndian.AppendUint32(index, uint32(e.h))
		index = binary.LittleEndian.AppendUint32(index, e.sum)
	}
	if _, err := f.WriteAt(index, place); err != nil {
		return err
	}
	head := append([]byte(preparedMagic), key[:]...)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(entries)))
	head = binary.LittleEndian.AppendUint64(head, uint64(place))
	head = binary.LittleEndian.AppendUint32(head, crc32.Update(checksum(head), castagnoli(), index))
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return writeManifest(set, file, place+int64(len(index)), o)
}

// fillPrepared decodes the images with several workers and writes their pixels
// one behind the other as they come. It returns where the index is to begin.
func fillPrepared(ctx context.Context, set *Set, f *os.File, entries []entry, o PrepareOptions) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done, place atomic.Int64
	place.Store(headSize)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(entries) {
					return
				}
				if m := preparedImage(set, i, o.Shorter); m != nil {
					at := place.Add(int64(len(m.Pix))) - int64(len(m.Pix))
					entries[i] = entry{at, m.W, m.H, checksum(m.Pix)}
					if _, err := f.WriteAt(m.Pix, at); err != nil {
						cancel(err)
						return
					}
				}
				if n := int(done.Add(1)); o.Progress != nil {
					o.Progress(n, len(entries))
				}
			}
		})
	}
	group.Wait()
	return place.Load(), context.Cause(ctx)
}

// preparedImage is item i, no larger than needed; nil if it cannot be read.
func preparedImage(set *Set, i, shorter int) *RGB {
	m, err := set.Load(i)
	if err == nil {
		m, err = shrink(m, shorter)
	}
	if err != nil {
		return nil
	}
	return m.Compact()
}

// shrink brings the shorter side of a larger image to the given size.
func shrink(m *RGB, shorter int) (*RGB, error) {
	if min(m.W, m.H) <= shorter {
		return m, nil
	}
	return Shorter{Size: shorter}.Apply(m, nil)
}

// writeManifest describes the file for people, beside it.
func writeManifest(set *Set, file string, size int64, o PrepareOptions) error {
	text, err := json.MarshalIndent(map[string]any{
		"format": preparedMagic, "set": set.Name, "images": len(set.Items), "classes": len(set.Classes), "shorter_side": o.Shorter, "bytes": size,
	}, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(file+".json", append(text, '\n'), 0o644)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

// prepared is a store over a mapped file; store is the one it was made from.
type prepared struct {
	store
	file    string
	shorter int
	mapped  []byte
	unmap   func() error
	entries []entry
	damaged sync.Once
}

var errDamaged = errors.New("damaged or of another set")

// openPrepared maps a file and verifies its head, its index and its size.
func openPrepared(file string, key [sha256.Size]byte, items int) (p *prepared, err error) {
	mapped, unmap, err := mapFile(file)
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
	p = &prepared{mapped: mapped, unmap: unmap, entries: make([]entry, items)}
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

// image returns a view of the mapping. Pixels that do not agree with their
// checksum are not used: the original is decoded instead, and the file is
// removed so that it is made anew next time.
func (p *prepared) image(it Item) (*RGB, error) {
	e := p.entries[it.index]
	if e.w > 0 {
		pix := p.mapped[e.at : e.at+e.bytes() : e.at+e.bytes()]
		if checksum(pix) == e.sum {
			return &RGB{W: e.w, H: e.h, Stride: 3 * e.w, Pix: pix}, nil
		}
		p.damaged.Do(func() { os.Remove(p.file) })
	}
	m, err := p.store.image(p.origin(it))
	if err == nil {
		m, err = it.crop(m)
	}
	if err != nil {
		return nil, err
	}
	return shrink(m, p.shorter)
}

// cropped marks a store whose images are their items' boxes already.
func (p *prepared) cropped() {}

func (p *prepared) close() error { return errors.Join(p.unmap(), p.store.close()) }
