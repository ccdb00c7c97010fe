package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"github.com/vernier-ml/vernier/data/pixels"
	"io"
	"strconv"
)

// openMNIST reads the IDX files of MNIST and of the sets made in its form
// (Fashion-MNIST, KMNIST, EMNIST), plain or gzipped. Their own split divides
// images and not classes.
func openMNIST(root string, _ Options) (*Set, error) {
	src, err := openSource(root)
	if err != nil {
		return nil, err
	}
	defer src.close()
	set := &Set{SharedClasses: true}
	store := &idxStore{root: root}
	set.store = store
	var keys []string
	for _, part := range []struct {
		prefixes []string
		part     Part
	}{{[]string{"train"}, TrainPart}, {[]string{"t10k", "test"}, TestPart}} {
		images, err := readIDX(src, root, part.prefixes, "images", 3)
		if err != nil {
			return nil, err
		}
		labels, err := readIDX(src, root, part.prefixes, "labels", 1)
		if err != nil {
			return nil, err
		}
		n, h, w := images.dims[0], images.dims[1], images.dims[2]
		if labels.dims[0] != n {
			return nil, fmt.Errorf("%s has %d images, %s %d labels", images.name, n, labels.name, labels.dims[0])
		}
		if h == 0 || w == 0 || store.w != 0 && (w != store.w || h != store.h) {
			return nil, fmt.Errorf("%s: images of %d x %d pixels", images.name, w, h)
		}
		store.w, store.h = w, h
		for i := range n {
			keys = append(keys, strconv.Itoa(int(labels.data[i])))
			set.Items = append(set.Items, Item{Path: fmt.Sprintf("%s/%d", part.part, i), Part: part.part, index: len(set.Items)})
		}
		store.pixels = append(store.pixels, images.data...)
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
}

// readIDX finds and reads one of the four files: PREFIX-KIND-idxN-ubyte, with a
// dot instead of the second hyphen in some copies, and .gz behind it in others.
func readIDX(src source, root string, prefixes []string, kind string, dims int) (*idx, error) {
	for _, prefix := range prefixes {
		for _, dot := range []string{"-", "."} {
			for _, gz := range []string{"", ".gz"} {
				file := fmt.Sprintf("%s-%s%sidx%d-ubyte%s", prefix, kind, dot, dims, gz)
				dir, ok := findRoot(src, file, "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")
				if !ok {
					continue
				}
				if dir != "" {
					file = dir + "/" + file
				}
				b, err := readFile(src, file)
				if err == nil && gz != "" {
					b, err = gunzip(b)
				}
				var x *idx
				if err == nil {
					x, err = parseIDX(b, dims)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", src.name(file), err)
				}
				x.name = src.name(file)
				return x, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: no %s-%s-idx%d-ubyte or its .gz", root, prefixes[0], kind, dims)
}

func gunzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(plain) > maxFileBytes {
		err = fmt.Errorf("%w: more than %d bytes", pixels.ErrTooLarge, maxFileBytes)
	}
	return plain, err
}

// parseIDX reads two zero bytes, the type 8 (unsigned bytes), the number of
// dimensions, each dimension (big-endian), then the bytes.
func parseIDX(b []byte, dims int) (*idx, error) {
	if len(b) < 4+4*dims || b[0] != 0 || b[1] != 0 {
		return nil, errors.New("not an IDX file")
	}
	if b[2] != 8 || int(b[3]) != dims {
		return nil, fmt.Errorf("an IDX file of type %d with %d dimensions, want 8 (bytes) with %d", b[2], b[3], dims)
	}
	x := &idx{data: b[4+4*dims:]}
	size := int64(1)
	for i := range dims {
		d := int64(binary.BigEndian.Uint32(b[4+4*i:]))
		if x.dims = append(x.dims, int(d)); d > 0 && size > int64(len(x.data))/d {
			return nil, fmt.Errorf("%w: %v bytes are due, there are %d", pixels.ErrTruncated, x.dims, len(x.data))
		}
		size *= d
	}
	if size != int64(len(x.data)) {
		return nil, fmt.Errorf("%d bytes in an array of %v", len(x.data), x.dims)
	}
	return x, nil
}

// idxStore holds grey images by number.
type idxStore struct {
	root   string
	w, h   int
	pixels []uint8 // (items, h, w)
}

func (s *idxStore) name(it Item) string { return s.root + "!" + it.Path }

func (s *idxStore) close() error { return nil }

func (s *idxStore) content(it Item) ([]byte, error) {
	n := s.w * s.h
	return s.pixels[it.index*n : (it.index+1)*n], nil
}

func (s *idxStore) image(_ context.Context, it Item) (*pixels.RGB, error) {
	m := pixels.NewRGB(s.w, s.h)
	grey, err := s.content(it)
	if err != nil {
		return nil, err
	}
	m.SetGray(grey)
	return m, nil
}
