package linear

import (
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// ReadIDX reads n random rows of a set of images and labels in the IDX format of
// MNIST (train-images-idx3-ubyte and train-labels-idx1-ubyte in dir, with or
// without .gz) as a table of pixels from 0 to 1. n = 0 reads all, in order.
func ReadIDX(dir string, n int, seed uint64) (*Table, error) {
	shape, pixels, err := readIDX(filepath.Join(dir, "train-images-idx3-ubyte"), 3)
	if err != nil {
		return nil, err
	}
	count, labels, err := readIDX(filepath.Join(dir, "train-labels-idx1-ubyte"), 1)
	if err != nil {
		return nil, err
	}
	if shape[0] != count[0] {
		return nil, fmt.Errorf("%s: %d images and %d labels", dir, shape[0], count[0])
	}
	rows := newRand(seed, 12).Perm(shape[0])
	if n == 0 {
		n, rows = shape[0], allRows(shape[0])
	}
	if n < 0 || n > shape[0] {
		return nil, fmt.Errorf("%s: %d rows asked for, there are %d", dir, n, shape[0])
	}
	t := &Table{Name: "mnist", rows: n}
	words := make([]string, n)
	for k, i := range rows[:n] {
		words[k] = strconv.Itoa(int(labels[i]))
	}
	t.setLabels(words)
	width := shape[1] * shape[2]
	for j := range width {
		c := Column{Name: fmt.Sprintf("p%d", j), Numbers: make([]float64, n)}
		for k, i := range rows[:n] {
			c.Numbers[k] = float64(pixels[i*width+j]) / 255
		}
		t.Columns = append(t.Columns, c)
	}
	return t, nil
}

func readIDX(path string, dims int) (shape []int, data []byte, err error) {
	f, err := wholefile.Open(path + ".gz")
	if os.IsNotExist(err) {
		f, err = wholefile.Open(path)
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(f.Name(), ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	head := make([]byte, 4+4*dims)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if head[0] != 0 || head[1] != 0 || head[2] != 8 || int(head[3]) != dims {
		return nil, nil, fmt.Errorf("%s: no IDX file of bytes in %d dimensions", f.Name(), dims)
	}
	size := 1
	for k := range dims {
		s := int(binary.BigEndian.Uint32(head[4+4*k:]))
		if s < 1 || s > 1<<24 || size > (1<<30)/s {
			return nil, nil, fmt.Errorf("%s: a dimension of %d", f.Name(), s)
		}
		shape = append(shape, s)
		size *= s
	}
	data, err = io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(data) != size {
		err = fmt.Errorf("%d bytes of data, the header says %d", len(data), size)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return shape, data, nil
}
