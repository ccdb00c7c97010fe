package data

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/unpack"
)

// openMNIST reads the IDX files of MNIST and of the sets made in its form
// (Fashion-MNIST, KMNIST, EMNIST), plain or gzipped. Their own split divides
// images and not classes.
func openMNIST(w *progress.Tracker, root string, o Options) (*Set, error) {
	src, err := source.Open(w, root)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	set := &Set{SharedClasses: true}
	store := &idxStore{root: root}
	set.store = store
	var keys []string
	for _, part := range []struct {
		prefixes []string
		part     Part
	}{{[]string{"train"}, TrainPart}, {[]string{"t10k", "test"}, TestPart}} {
		images, err := readIDX(w, src, root, part.prefixes, "images", 3, func(dims []int) error { return store.check(dims, o.Decode) })
		if err != nil {
			return nil, err
		}
		labels, err := readIDX(w, src, root, part.prefixes, "labels", 1, func(dims []int) error {
			if n := images.dims[0]; dims[0] != n {
				return fmt.Errorf("%s, but %s has %s", plural.Of(dims[0], "label"), images.name, plural.Of(n, "image"))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, x := range []*idx{images, labels} {
			if x.problem != "" {
				set.Problems = append(set.Problems, x.name+": "+x.problem)
			}
		}
		for _, label := range labels.data {
			keys = append(keys, strconv.Itoa(int(label)))
			i := len(set.Items)
			set.Items = append(set.Items, Item{Path: fmt.Sprintf("%s/%d", part.part, i-store.count()), Part: part.part, index: i})
		}
		store.add(images)
	}
	if len(set.Items) == 0 {
		return nil, fmt.Errorf("%s: no images", root)
	}
	set.classify(keys, nil)
	return set, nil
}

// idx is an array of bytes in the IDX format.
type idx struct {
	name string
	dims []int
	data []uint8
	// problem says what is wrong with its file, though all of it is there.
	problem string
}

// readIDX finds and reads one of the four files: PREFIX-KIND-idxN-ubyte, with a
// dot instead of the second hyphen in some copies, and .gz behind it in others. check
// looks at the dimensions before the array is read.
func readIDX(w *progress.Tracker, src source.Tree, root string, prefixes []string, kind string, dims int, check func(dims []int) error) (*idx, error) {
	for _, prefix := range prefixes {
		for _, dot := range []string{"-", "."} {
			for _, gz := range []string{"", ".gz"} {
				file := fmt.Sprintf("%s-%s%sidx%d-ubyte%s", prefix, kind, dot, dims, gz)
				dir, ok := findRoot(w, src, file, "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")
				if !ok {
					continue
				}
				if dir != "" {
					file = dir + "/" + file
				}
				x, err := readIDXFile(w, src, file, dims, check)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", src.Name(file), err)
				}
				x.name = src.Name(file)
				return x, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: no %s-%s-idx%d-ubyte or its .gz", root, prefixes[0], kind, dims)
}

// readIDXFile reads a file, unpacked if it is compressed by gzip, whatever its name.
func readIDXFile(w *progress.Tracker, src source.Tree, file string, dims int, check func(dims []int) error) (*idx, error) {
	f, size, err := src.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const looked = 1 << 12 // bytes that tell an array from what stands in its place
	counted := w.File(f, "reading "+path.Base(file)+", MB", size)
	defer counted.End()
	r := bufio.NewReaderSize(counted, 1<<16)
	head, err := r.Peek(looked)
	switch {
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, pixels.ErrEmptyFile
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
	case head[0] != 0:
		if err := checkList(head); err != nil {
			return nil, err
		}
		fallthrough
	default:
		return readArray(r, dims, check)
	}
	z, err := unpack.NewGzip(r)
	if err != nil {
		return nil, fmt.Errorf("damaged gzip file: %w", err)
	}
	x, err := readArray(z, dims, check)
	if err == nil && z.Surplus() {
		x.problem = unpack.ErrSurplus.Error()
	}
	return x, err
}

// readArray reads two zero bytes, the type 8 (unsigned bytes), the number of
// dimensions, each dimension (big-endian), then their product of bytes, and no more.
// It takes memory as the bytes come, once check is satisfied with the dimensions.
func readArray(r io.Reader, dims int, check func(dims []int) error) (*idx, error) {
	head := make([]byte, 4+4*dims)
	n, err := io.ReadFull(r, head)
	switch {
	case n >= 4 && (head[0] != 0 || head[1] != 0), n < 4 && errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("not an IDX file")
	case n >= 4 && (head[2] != 8 || int(head[3]) != dims):
		return nil, fmt.Errorf("an IDX file of type %d with %d dimensions, want 8 (bytes) with %d", head[2], head[3], dims)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, pixels.ErrTruncated
	case err != nil:
		return nil, err
	}
	x := &idx{}
	size := int64(1)
	for i := range dims {
		d := int64(binary.BigEndian.Uint32(head[4+4*i:]))
		if x.dims = append(x.dims, int(d)); d > 0 && size > math.MaxInt64/2/d {
			return nil, fmt.Errorf("%w: its head tells of an array of %v bytes", pixels.ErrTooLarge, x.dims)
		}
		size *= d
	}
	if err := check(x.dims); err != nil {
		return nil, err
	}
	x.data, err = pixels.ReadBounded(r, size, size)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: its head tells of an array of %v bytes", pixels.ErrTruncated, x.dims)
	}
	return x, err
}

// idxStore holds gray images by number.
type idxStore struct {
	root   string
	w, h   int
	pixels []uint8 // (items, h, w)
}

func (s *idxStore) count() int { return len(s.pixels) / max(s.w*s.h, 1) }

// check refuses arrays of images that cannot be added or are too large: all of them are
// kept in memory, and together they may take what decoding may.
func (s *idxStore) check(dims []int, o pixels.Options) error {
	n, h, w := dims[0], dims[1], dims[2]
	if err := o.CheckSize(w, h); err != nil {
		return err
	}
	if s.w != 0 && (w != s.w || h != s.h) {
		return fmt.Errorf("images of %d x %d pixels, those of the other file have %d x %d", w, h, s.w, s.h)
	}
	if room := o.MemoryLimit() - int64(len(s.pixels)); int64(n) > room/int64(w*h) {
		return fmt.Errorf("%w: its head tells of %d images of %d x %d pixels, at most %d bytes of all images together are read", pixels.ErrTooLarge, n, w, h, o.MemoryLimit())
	}
	return nil
}

func (s *idxStore) add(x *idx) {
	if s.pixels == nil {
		s.pixels = x.data
	} else {
		s.pixels = append(s.pixels, x.data...)
	}
	s.h, s.w = x.dims[1], x.dims[2]
}

func (s *idxStore) name(it Item) string { return s.root + "!" + it.Path }

func (s *idxStore) close() error { return nil }

func (s *idxStore) content(it Item) ([]byte, error) {
	n := s.w * s.h
	return s.pixels[it.index*n : (it.index+1)*n], nil
}

func (s *idxStore) image(_ context.Context, it Item) (*pixels.RGB, error) {
	m := pixels.NewRGB(s.w, s.h)
	gray, err := s.content(it)
	if err != nil {
		return nil, err
	}
	m.SetGray(gray)
	return m, nil
}
