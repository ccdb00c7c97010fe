package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Tensor is a named array, on disk or in memory. Its numbers are read when one
// of its methods asks for them. Methods may be called concurrently.
type Tensor struct {
	Name  string
	DType DType
	// Shape is empty for a scalar. It must not be changed.
	Shape []int

	// data holds the elements, followed along the first dimension by those of
	// more where several arrays of a file make one tensor.
	data view
	more *[]view
}

// views are the parts of the tensor in order.
func (t *Tensor) views(yield func(v *view) bool) {
	if !yield(&t.data) {
		return
	}
	if t.more == nil {
		return
	}
	for i := range *t.more {
		if !yield(&(*t.more)[i]) {
			return
		}
	}
}

// Len returns the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Size returns the bytes of the elements in row-major order, without gaps.
func (t *Tensor) Size() int64 {
	var n int64
	for v := range t.views {
		n += v.nbytes
	}
	return n
}

// Float32 returns the elements in row-major order.
//
// fp16, bf16 and fp8 are exact in float32. float64 is rounded to nearest and
// becomes an infinity beyond float32's range. Integers are rounded to nearest,
// which changes those beyond 2^24 in magnitude. Booleans are 0 and 1. Complex
// numbers, packed 4- and 6-bit numbers and text are refused.
func (t *Tensor) Float32() ([]float32, error) {
	if err := t.checkUnfold(); err != nil {
		return nil, err
	}
	if err := t.checkNumeric(); err != nil {
		return nil, err
	}
	dst := make([]float32, t.Len())
	return dst, t.ReadFloat32(dst)
}

// ReadFloat32 does the same into dst, which must have Len elements.
func (t *Tensor) ReadFloat32(dst []float32) error {
	if len(dst) != t.Len() {
		return fmt.Errorf("weights: tensor %q has %d elements, there is room for %d", t.Name, t.Len(), len(dst))
	}
	if err := t.checkNumeric(); err != nil {
		return err
	}
	for v := range t.views {
		err := v.each(func(pos int, run []byte) error {
			return decodeFloat32(dst[pos:pos+len(run)/int(v.width)], run, t.DType)
		})
		if err != nil {
			return t.wrap(err)
		}
		dst = dst[v.elems():]
	}
	return nil
}

// checkNumeric refuses types without a conversion to float32.
func (t *Tensor) checkNumeric() error {
	if err := decodeFloat32(nil, nil, t.DType); err != nil {
		return t.wrap(err)
	}
	return nil
}

// Bytes returns the elements as they are, little-endian, in row-major order.
func (t *Tensor) Bytes() ([]byte, error) {
	if err := t.checkUnfold(); err != nil {
		return nil, err
	}
	for v := range t.views {
		if err := v.data.verify(); err != nil {
			return nil, t.wrap(err)
		}
	}
	dst := make([]byte, t.Size())
	return dst, t.gather(dst)
}

func (t *Tensor) gather(dst []byte) error {
	for v := range t.views {
		err := v.each(func(pos int, run []byte) error {
			copy(dst[pos*int(v.width):], run)
			return nil
		})
		if err != nil {
			return t.wrap(err)
		}
		dst = dst[v.nbytes:]
	}
	return nil
}

// WriteTo writes what Bytes returns. Contiguous tensors pass through a small
// buffer; others are gathered in memory first.
func (t *Tensor) WriteTo(w io.Writer) (int64, error) {
	if !t.contiguous() {
		p, err := t.Bytes()
		if err != nil {
			return 0, err
		}
		n, err := w.Write(p)
		return int64(n), err
	}
	var total int64
	for v := range t.views {
		err := v.each(func(_ int, run []byte) error {
			n, err := w.Write(run)
			total += int64(n)
			if err != nil {
				return &writeError{err}
			}
			return nil
		})
		var failed *writeError
		if errors.As(err, &failed) {
			return total, failed.err
		}
		if err != nil {
			return total, t.wrap(err)
		}
	}
	return total, nil
}

// writeError tells the failure of a destination from one of a source.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

// Extent returns where the elements lie in the file, if they lie there in
// row-major order and little-endian, without gaps and not compressed: a program
// that maps the file finds them at off. A checksum that the file has for them is
// compared first, which reads them once.
func (t *Tensor) Extent() (off, size int64, ok bool, err error) {
	v := &t.data
	if t.more != nil || v.steps != nil || v.swap > 1 || v.data.deflated {
		return 0, 0, false, nil
	}
	if err := v.data.verify(); err != nil {
		return 0, 0, false, t.wrap(err)
	}
	return v.data.off + v.off, v.nbytes, true, nil
}

func (t *Tensor) contiguous() bool {
	for v := range t.views {
		if v.steps != nil {
			return false
		}
	}
	return true
}

// Strings returns the elements of a Text or ByteText tensor without their
// padding. Bytes are UTF-8; what is not stays as it is.
func (t *Tensor) Strings() ([]string, error) {
	if t.DType != Text && t.DType != ByteText {
		return nil, fmt.Errorf("weights: tensor %q holds %v, not text", t.Name, t.DType)
	}
	p, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]string, t.Len())
	if len(p) == 0 {
		return out, nil
	}
	width := int(t.data.width)
	for i := range out {
		if cell := p[i*width : (i+1)*width]; t.DType == Text {
			out[i] = decodeUTF32(cell)
		} else {
			out[i] = string(bytes.TrimRight(cell, "\x00"))
		}
	}
	return out, nil
}

// checkUnfold refuses arrays far larger than their file; see unfoldLimit.
func (t *Tensor) checkUnfold() error {
	limit := int64(0)
	for v := range t.views {
		limit = max(limit, v.data.limit)
	}
	if t.Size() > limit && t.Size() > t.stored() {
		return fmt.Errorf("weights: tensor %q unfolds to %d bytes, which its file is too small for (limit %d); ReadFloat32 into memory of your own reads it all the same",
			t.Name, t.Size(), limit)
	}
	return nil
}

// stored returns the bytes of the file that the tensor may lie in.
func (t *Tensor) stored() int64 {
	var n int64
	for v := range t.views {
		n += v.data.pack
	}
	return n
}

func (t *Tensor) wrap(err error) error {
	return fmt.Errorf("weights: tensor %q: %w", t.Name, err)
}
