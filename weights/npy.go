package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxNPYHeader is far above what the array interface needs; NumPy itself warns
// from 10000 bytes.
const maxNPYHeader = 1 << 16

// readNPY reads a file of one array, whose name is "".
func readNPY(f *File, src io.ReaderAt, size int64) error {
	f.format = FormatNPY
	b := &blob{scratch: new(scratch), src: src, pack: size, size: size, limit: unfoldLimit(size), what: "file"}
	t, err := npyTensor("", b)
	if err != nil {
		return err
	}
	f.tensors = []Tensor{t}
	return nil
}

// npyTensor reads the header of an array that fills a blob.
func npyTensor(name string, b *blob) (Tensor, error) {
	r, done := b.open()
	h, start, err := readNPYHeader(r, b.size)
	done()
	if err != nil {
		return Tensor{}, err
	}
	n, err := count(h.shape)
	if err != nil {
		return Tensor{}, err
	}
	size, ok := mul(n, int64(h.width))
	if !ok {
		return Tensor{}, fmt.Errorf("an array of shape %v: the size does not fit 63 bits", h.shape)
	}
	if have := b.size - start; have < size {
		return Tensor{}, fmt.Errorf("an array of shape %v and %v has %d bytes, of which %d are there: the file is cut off", h.shape, h.dtype, size, have)
	} else if have > size {
		return Tensor{}, fmt.Errorf("%d bytes follow the array of shape %v and %v", have-size, h.shape, h.dtype)
	}
	v := view{data: b, off: start, nbytes: size, width: int32(max(h.width, 1)), swap: uint8(h.swap)}
	if h.fortran && n > 0 {
		reversed := slices.Clone(h.shape)
		slices.Reverse(reversed)
		strides := rowMajor(reversed)
		slices.Reverse(strides)
		v.steps = stepsOf(h.shape, strides)
	}
	return Tensor{Name: name, DType: h.dtype, Shape: h.shape, data: v}, nil
}

// readNPYHeader reads magic, version, length and dictionary, and returns where
// the data begin. size is that of the whole.
func readNPYHeader(r io.Reader, size int64) (*npyHeader, int64, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return nil, 0, errors.New("it ends inside the header")
	}
	if string(head[:6]) != npyMagic {
		return nil, 0, fmt.Errorf("an array begins with %q, this one with %q", npyMagic, head[:6])
	}
	start, n := int64(10), int64(binary.LittleEndian.Uint16(head[8:]))
	switch head[6] {
	case 1:
	case 2, 3: // a 32-bit length; 3 allows UTF-8 in field names
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return nil, 0, errors.New("it ends inside the header")
		}
		start, n = 12, int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return nil, 0, fmt.Errorf("version %d.%d of the .npy format, known are 1 to 3", head[6], head[7])
	}
	if n > size-start {
		return nil, 0, fmt.Errorf("the header length is %d, but only %d bytes follow: it is cut off", n, size-start)
	}
	if n > maxNPYHeader {
		return nil, 0, fmt.Errorf("a header of %d bytes; a plain array needs some 100", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, 0, errors.New("it ends inside the header")
	}
	h, err := parseNPYHeader(string(text))
	if err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	return h, start + n, nil
}
