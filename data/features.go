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
	"image"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/vernier-ml/vernier/data/internal/float16"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/disk"
)

// Features are the outputs of the frozen part of a network for every image of a
// set, computed once and kept in a file that is mapped into memory.
type Features struct {
	Path  string
	Bytes int64
	Built int // images computed just now, rather than found
	// Damaged says that the file that was found did not agree with its checksums, so
	// that everything was computed anew.
	Damaged bool
	Shape   [3]int   // of one image's features: channels, height, width
	Left    []string // places of the images that could not be read

	half   bool
	mapped []byte
	unmap  func() error
	rows   map[featureKey]int
	sound  []atomic.Bool // rows that were verified
	table  *[1 << 16]float32
}

// featureKey tells the images of a set apart.
type featureKey struct {
	path string
	box  image.Rectangle
}

// FeatureOptions say what features are and where they are kept.
type FeatureOptions struct {
	// Dir is the folder of the file; "" means vernier in the user's cache folder.
	Dir string
	// Of names the network that computes them, its parameters and all else, beside
	// the images and the pipeline, that their values depend on.
	Of string
	// Shape of one image's features.
	Shape [3]int
	// Half keeps numbers as binary16: half the room, and a relative error of up to
	// 0.0005. Numbers beyond 65504 are then an error.
	Half bool
	// Batch images are computed at a time; Workers prepare them, 0 for one a CPU.
	Batch, Workers int
	// Compute appends the features of images (n, 3, H, W) to dst.
	Compute  func(dst, images []float32) ([]float32, error)
	Progress func(done, total int)
	// Checking is Progress of reading a file that was found through, once.
	Checking func(done, total int)
}

// The file: a head of fixed Size, then for each image in the order of the set its
// numbers, a word that says whether there are any, and a checksum of both. All
// little-endian. The head is followed by the rows as they were computed, so that an
// unfinished file can be gone on with.
const (
	featureMagic = "vernier feature1"
	featureHead  = 16 + sha256.Size + 8 + 3*4 + 4 // magic, key, rows, shape, checksum
	featureTail  = 4 + 4
	featureThere = 1
	featureBad   = 2 // the image could not be read
)

func (o FeatureOptions) width() int {
	if o.Half {
		return 2
	}
	return 4
}

// rowBytes is the length of a row in the file.
func (o FeatureOptions) rowBytes() int64 {
	return int64(o.Shape[0]*o.Shape[1]*o.Shape[2]*o.width() + featureTail)
}

func (o FeatureOptions) head(key [sha256.Size]byte, rows int) []byte {
	b := append([]byte(featureMagic), key[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(rows))
	for _, n := range o.Shape {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// CacheFeatures opens the features of a set's images, seen through pipeline, which
// draws nothing. They are computed on first use, and again when the list, an
// image's Size or time, the pipeline or Of changed, or the file is damaged: its
// checksums are looked at before anything is taken from it. Computing continues where it was
// interrupted. Of several processes that want the same file one works and the others wait.
func CacheFeatures(ctx context.Context, set *Set, pipeline *transform.Pipeline, o FeatureOptions) (*Features, error) {
	f, err := cacheFeatures(ctx, set, pipeline, o)
	if err != nil {
		return nil, fmt.Errorf("features of %s: %w", set.Name, err)
	}
	return f, nil
}

func cacheFeatures(ctx context.Context, set *Set, pipeline *transform.Pipeline, o FeatureOptions) (*Features, error) {
	if pipeline.Random() || o.Compute == nil || o.Batch < 1 || min(o.Shape[0], o.Shape[1], o.Shape[2]) < 1 {
		return nil, fmt.Errorf("shape %v, batches of %d, random steps: %v; sizes must be positive and images the same every time", o.Shape, o.Batch, pipeline.Random())
	}
	items, rows := uniqueItems(set)
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no cache folder: %w", err)
		}
		o.Dir = filepath.Join(cache, "vernier")
	}
	settings := fmt.Sprintf("%s %s %v %v %d %d %#v %+v", set.Name, o.Of, o.Shape, o.Half, pipeline.W, pipeline.H, pipeline.Norm, pipeline.Steps)
	b := featureBuild{set: set, pipeline: pipeline, o: o, items: items, key: featureStamp(set, items, settings)}
	owner := sha256.Sum256([]byte(settings))
	b.name = featureName{o.Dir, hex.EncodeToString(owner[:8]), hex.EncodeToString(b.key[:8])}
	f, err := b.find(ctx)
	if err != nil {
		damaged := errors.Is(err, errDamaged)
		if err := b.make(ctx); err != nil {
			return nil, err
		}
		if f, err = b.open(); err != nil {
			return nil, err
		}
		f.Damaged = damaged
	}
	f.Built, f.rows = b.built, rows
	for i, item := range items {
		if binary.LittleEndian.Uint32(f.tail(i)) == featureBad {
			f.Left = append(f.Left, set.Where(item))
		}
	}
	return f, nil
}

// uniqueItems lists every image once, and the row of each.
func uniqueItems(set *Set) (items []int, rows map[featureKey]int) {
	rows = make(map[featureKey]int, len(set.Items))
	for i, it := range set.Items {
		k := featureKey{it.Path, it.Box}
		if _, twice := rows[k]; !twice {
			rows[k] = len(items)
			items = append(items, i)
		}
	}
	return items, rows
}

// featureStamp is what a file of features must have been made from.
func featureStamp(set *Set, items []int, settings string) (key [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d\n", featureMagic, settings, len(items))
	for _, i := range items {
		fmt.Fprintf(h, "%q %v %s\n", set.Items[i].Path, set.Items[i].Box, imageStamp(set.images(), set.Items[i]))
	}
	h.Sum(key[:0])
	return key
}

// imageStamp tells cheaply whether an image, or how it is brought to the loader,
// has changed.
func imageStamp(s store, it Item) string {
	switch s := s.(type) {
	case *prepared:
		return fmt.Sprintf("shorter %d %s", s.shorter, imageStamp(s.store, s.origin(it)))
	case shrunk:
		return fmt.Sprintf("shorter %d %s", s.shorter, imageStamp(s.store, it))
	case corrupted:
		return fmt.Sprintf("corrupted %v seed %d %s", s.of(it).pictures(), s.seed, imageStamp(s.store, it))
	case stamper:
		stamp, err := s.stamp(it)
		if err != nil { // a missing file: computed again once it is there
			stamp = err.Error()
		}
		return stamp + " " + s.settings()
	}
	content, err := s.content(it)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %08x", len(content), checksum(content))
}

// openFeatures maps a finished file and verifies its head and Size.
func openFeatures(name string, head []byte, rows int, o FeatureOptions) (*Features, error) {
	mapped, unmap, err := disk.Map(name)
	if err != nil {
		return nil, err
	}
	if int64(len(mapped)) != featureHead+int64(rows)*o.rowBytes() || !bytes.Equal(mapped[:featureHead], head) {
		unmap()
		return nil, errDamaged
	}
	f := &Features{Path: name, Bytes: int64(len(mapped)), Shape: o.Shape, half: o.Half, mapped: mapped, unmap: unmap, sound: make([]atomic.Bool, rows)}
	if o.Half {
		f.table = float16.Table()
	}
	return f, nil
}

// Close unmaps the file.
func (f *Features) Close() error { return f.unmap() }

// row returns a row's numbers as they lie in the file, and all that its checksum is of.
func (f *Features) row(i int) (numbers, summed []byte) {
	n := (len(f.mapped) - featureHead) / len(f.sound)
	b := f.mapped[featureHead+i*n:][:n]
	return b[:n-featureTail], b[:n-4]
}

// tail is what follows a row's numbers.
func (f *Features) tail(i int) []byte {
	numbers, _ := f.row(i)
	return numbers[len(numbers):][:featureTail]
}

// whole compares a row with its checksum, once.
func (f *Features) whole(i int) bool {
	if f.sound[i].Load() {
		return true
	}
	_, summed := f.row(i)
	if crc32.Checksum(summed, castagnoli()) != binary.LittleEndian.Uint32(f.tail(i)[4:]) {
		return false
	}
	f.sound[i].Store(true)
	return true
}

// errUnsound is damage that came after the file was made or checked. It is no
// *ImageError: the image may be fine.
var errUnsound = errors.New("damaged")

// read writes the numbers of a row to dst.
func (f *Features) read(dst []float32, i int) error {
	numbers, _ := f.row(i)
	tail := f.tail(i)
	if !f.whole(i) {
		os.Remove(f.Path) // it is computed anew next time
		return fmt.Errorf("%s is %w; it was removed, and the next start computes it anew", f.Path, errUnsound)
	}
	if binary.LittleEndian.Uint32(tail) != featureThere {
		return errors.New("it could not be read when its features were computed")
	}
	if f.half {
		for j := range dst {
			dst[j] = f.table[uint16(numbers[2*j])|uint16(numbers[2*j+1])<<8]
		}
		return nil
	}
	for j := range dst {
		dst[j] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*j:]))
	}
	return nil
}
