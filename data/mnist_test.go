package data

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

// endlessZeros is a reader of head and then of zeros that counts what is read.
type endlessZeros struct {
	head io.Reader
	read int64
}

func (z *endlessZeros) Read(p []byte) (int, error) {
	if n, err := z.head.Read(p); err == nil {
		return n, nil
	}
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

func TestIDXTakesNoMoreMemoryThanItsHeadTellsOf(t *testing.T) {
	fine := func([]int) error { return nil }
	endless := &endlessZeros{head: bytes.NewReader(idxFile([]int{10, 28, 28}, nil))}
	if _, err := readArray(endless, 3, fine); err == nil || !strings.Contains(err.Error(), "longer than the 7840 bytes") || endless.read > 1<<17 {
		t.Errorf("%v after %d bytes", err, endless.read)
	}
	store := &idxStore{}
	check := func(dims []int) error { return store.check(dims, pixels.Options{MaxPixels: 1000, Memory: 8000}) }
	for name, c := range map[string]struct {
		dims []int
		want string
	}{
		"many images":  {[]int{11, 28, 28}, "its head tells of 11 images of 28 x 28 pixels, at most 8000 bytes of all images together are read"},
		"large images": {[]int{1, 40, 40}, "40 x 40 pixels, at most 1000 pixels are decoded"},
		"no end":       {[]int{1 << 31, 1 << 31, 1 << 31}, "its head tells of an array of"},
	} {
		endless := &endlessZeros{head: bytes.NewReader(idxFile(c.dims, nil))}
		if _, err := readArray(endless, 3, check); !errors.Is(err, pixels.ErrTooLarge) || !strings.Contains(err.Error(), c.want) || endless.read > 0 {
			t.Errorf("%s: %v after %d bytes", name, err, endless.read)
		}
	}
	x, err := readArray(bytes.NewReader(idxFile([]int{10, 28, 28}, make([]byte, 7840))), 3, check)
	if err != nil {
		t.Fatal(err)
	}
	store.add(x)
	if err := check([]int{1, 28, 28}); !errors.Is(err, pixels.ErrTooLarge) {
		t.Errorf("beside the first part: %v", err)
	}
}

func TestBytesBehindAGzippedIDXAreSaid(t *testing.T) {
	images, labels := idxFile([]int{4, 2, 3}, make([]byte, 24)), idxFile([]int{4}, []byte{7, 1, 7, 9})
	f := files{"train-images-idx3-ubyte.gz": append(imagetest.Gzip(images), "text"...), "train-labels-idx1-ubyte.gz": append(imagetest.Gzip(labels), 0, 0, 0),
		"t10k-images-idx3-ubyte.gz": imagetest.Gzip(images), "t10k-labels-idx1-ubyte.gz": imagetest.Gzip(labels)}
	set := mustOpen(t, "mnist:"+f.folder(t))
	if len(set.Problems) != 1 || !strings.Contains(set.Problems[0], "train-images-idx3-ubyte.gz: other bytes follow the end of the compressed data") {
		t.Errorf("%q", set.Problems)
	}
}
