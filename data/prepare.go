package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/disk"
	"github.com/vernier-ml/vernier/internal/wholefile"
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
	// Unstored, if not nil, is called with the reason why no file can be had (a full or read-only
	// disk); Prepare then returns Shrunk(set, Shorter), which gives the same
	// images. If it is nil, that is Prepare's error.
	Unstored func(error)
}

// DefaultShorter is the shorter side of prepared images.
const DefaultShorter = 256

// Prepare returns the set with its images decoded and resized beforehand, in one
// file that is mapped into memory. The file is made on first use, and again when
// the list, a file's Size or time, or an option changed, or when it is damaged;
// the one it takes the place of is removed. Of several processes that prepare one
// set at once, one works and the others wait for it.
//
// Evaluation that begins with a resize of the shorter side to Shorter gives the
// same numbers from it, to the bit; random crops see the resized image instead
// of the original.
//
// The result takes set over: closing it closes both. Sets that need no decoding
// (glyphs, MNIST) are returned as they are; those of NewSet, whose images nobody can
// tell to be the same, are Shrunk. Unreadable images stay so.
func Prepare(ctx context.Context, set *Set, o PrepareOptions) (*Set, error) {
	if o.Shorter == 0 {
		o.Shorter = DefaultShorter
	}
	if o.Shorter < 1 {
		return nil, fmt.Errorf("prepare: shorter side %d, it must be positive", o.Shorter)
	}
	inner, ok := set.images().(stamper)
	if _, own := set.images().(*ownStore); own {
		return Shrunk(set, o.Shorter)
	}
	if !ok {
		return set, nil
	}
	p, err := havePrepared(ctx, set, inner, o)
	switch {
	case err != nil && (o.Unstored == nil || ctx.Err() != nil):
		return nil, fmt.Errorf("preparing %s: %w", set.Name, err)
	case err != nil:
		o.Unstored(err)
		return Shrunk(set, o.Shorter)
	}
	p.store, p.shorter = set.store, o.Shorter
	out := *set
	out.Items = make([]Item, len(set.Items))
	for i, it := range set.Items {
		it.index, it.origin = i, it.index
		out.Items[i] = it
	}
	out.store = p
	return &out, nil
}

// havePrepared opens the set's file, after making it if need be.
func havePrepared(ctx context.Context, set *Set, inner stamper, o PrepareOptions) (*prepared, error) {
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no cache folder: %w", err)
		}
		o.Dir = filepath.Join(cache, "vernier")
	}
	wd, err := os.Getwd() // so that relative names of other folders are other names
	if err != nil {
		return nil, err
	}
	key := preparedKey(set, inner, o, wd)
	name := preparedName{o.Dir, preparedOwner(set, inner, o, wd), hex.EncodeToString(key[:8])}
	if p, err := openPrepared(name.images(), key, len(set.Items)); err == nil {
		return p, nil
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, err
	}
	unlock, err := disk.Lock(ctx, name.lock())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if p, err := openPrepared(name.images(), key, len(set.Items)); err == nil {
		return p, nil // another process was faster
	}
	name.clean("") // what a killed process left takes room
	if err := checkRoom(set, o); err != nil {
		return nil, err
	}
	if err := build(ctx, set, name.images(), key, o); err != nil {
		return nil, err
	}
	name.clean(name.key)
	p, err := openPrepared(name.images(), key, len(set.Items))
	if err == nil {
		p.built = true
	}
	return p, err
}

// stamper is a store whose items' files tell cheaply whether they changed.
type stamper interface {
	stamp(Item) (string, error)
	// settings says how files are decoded.
	settings() string
}

// preparedKey is what the prepared file must have been made from.
func preparedKey(set *Set, s stamper, o PrepareOptions, wd string) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d %s\n", preparedMagic, o.Shorter, len(set.Items), s.settings())
	for _, it := range set.Items {
		stamp, err := s.stamp(it)
		if err != nil { // a missing file: unreadable now, and prepared again once it is there
			stamp = err.Error()
		}
		fmt.Fprintf(h, "%q %s %v\n", absolute(wd, set.images().name(it)), stamp, it.Box)
	}
	h.Sum(key[:0])
	return key
}

// build decodes all images into a new file, which replaces the old one in a
// single step once it is complete.
func build(ctx context.Context, set *Set, file string, key [sha256.Size]byte, o PrepareOptions) error {
	f, err := wholefile.Create(file)
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
				if m := preparedImage(ctx, set, i, o.Shorter); m != nil {
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
func preparedImage(ctx context.Context, set *Set, i, shorter int) *pixels.RGB {
	m, err := set.Load(ctx, i)
	if err == nil {
		m, err = transform.Shrink{Size: shorter}.Apply(m, nil)
	}
	if err != nil {
		return nil
	}
	return m.Compact()
}

// writeManifest describes the file for people, beside it.
func writeManifest(set *Set, file string, size int64, o PrepareOptions) error {
	text, err := json.MarshalIndent(map[string]any{
		"format": preparedMagic, "set": set.Name, "images": len(set.Items), "classes": len(set.Classes), "shorter_side": o.Shorter, "bytes": size,
	}, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.WriteBytes(file+".json", append(text, '\n'))
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }
