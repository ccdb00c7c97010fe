package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Deferred makes a float32 tensor of numbers that lie elsewhere: read fills dst, of as many
// numbers as the shape has, whenever they are asked for, and they are forgotten when the
// last has been read. So many tensors can be written with the memory of one.
func Deferred(name string, shape []int, read func(dst []float32) error) (*Tensor, error) {
	n, err := count(shape)
	if err != nil {
		return nil, fmt.Errorf("weights: %q: %w", name, err)
	}
	size := 4 * n
	b := &blob{scratch: new(scratch), src: &deferred{n: n, read: read}, pack: size, size: size, limit: size, what: name}
	return &Tensor{Name: name, DType: Float32, Shape: shape, data: view{data: b, nbytes: size, width: 4}}, nil
}

// deferred presents numbers that are read when they are asked for as little-endian bytes.
type deferred struct {
	n    int64
	read func(dst []float32) error

	mu   sync.Mutex
	host []float32 // nil before the first and after the last have been asked for
}

// ReadAt implements io.ReaderAt, for reads of whole elements.
func (d *deferred) ReadAt(p []byte, off int64) (int, error) {
	if off%4 != 0 {
		return 0, errors.New("weights: unaligned read of an array in memory")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.host == nil {
		host := make([]float32, d.n)
		if err := d.read(host); err != nil {
			return 0, err
		}
		d.host = host
	}
	from := off / 4
	n := min(int64(len(p))/4, d.n-from)
	for i, v := range d.host[from : from+n] {
		binary.LittleEndian.PutUint32(p[4*i:], math.Float32bits(v))
	}
	if from+n == d.n {
		d.host = nil
	}
	if 4*n < int64(len(p)) {
		return int(4 * n), io.EOF
	}
	return int(4 * n), nil
}
