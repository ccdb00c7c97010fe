package weights

import (
	"io"
	"slices"
)

// view is a strided array inside a blob.
//
// There may be very many in a file, so it is kept small.
type view struct {
	data *blob
	off  int64 // bytes from the start of the blob
	// nbytes is the size of the array when it is contiguous.
	nbytes int64
	width  int32 // bytes of an element; 1 for packed elements
	swap   uint8 // bytes that change places (big-endian data), or 0
	// steps is nil where the array is contiguous in row-major order.
	steps *steps
}

// steps describe an array that is not contiguous: its sizes and strides (in
// elements, none negative).
type steps struct{ dims, strides []int }

// stepsOf returns nil for a contiguous array.
func stepsOf(dims, strides []int) *steps {
	if isRowMajor(dims, strides) {
		return nil
	}
	return &steps{dims, strides}
}

// elems returns the number of elements.
func (v *view) elems() int { return int(v.nbytes / int64(v.width)) }

// each calls fn with runs of little-endian elements and the position of the
// first of them in row-major order. Contiguous views give large runs, others
// single elements in the order of storage.
func (v *view) each(fn func(pos int, run []byte) error) error {
	if v.nbytes == 0 {
		return nil
	}
	if err := v.data.verify(); err != nil {
		return err
	}
	if v.steps == nil {
		return v.sequential(fn)
	}
	return v.scattered(fn)
}

func (v *view) sequential(fn func(pos int, run []byte) error) error {
	r, done := v.data.open()
	defer done()
	if s, ok := r.(io.Seeker); ok {
		if _, err := s.Seek(v.off, io.SeekStart); err != nil {
			return err
		}
	} else if _, err := io.CopyN(io.Discard, r, v.off); err != nil {
		return noEOF(err)
	}
	buf, free := v.data.scratch.chunk(min(max(chunkSize, int64(v.width)), v.nbytes))
	defer free()
	width := int(v.width)
	buf = buf[:len(buf)/width*width]
	pos := 0
	for left := v.nbytes; left > 0; {
		run := buf[:min(int64(len(buf)), left)]
		if _, err := io.ReadFull(r, run); err != nil {
			return noEOF(err)
		}
		if v.swap > 1 {
			swapBytes(run, int(v.swap))
		}
		if err := fn(pos, run); err != nil {
			return err
		}
		pos += len(run) / width
		left -= int64(len(run))
	}
	return nil
}

// axis is a dimension with its steps through the storage and through the result.
type axis struct{ size, from, to int }

// scattered walks the storage with the largest strides outermost, so that reads
// move forward through the file whatever the order of the dimensions.
func (v *view) scattered(fn func(pos int, run []byte) error) error {
	r, err := v.data.random()
	if err != nil {
		return err
	}
	to := rowMajor(v.steps.dims)
	var axes []axis
	for i, n := range v.steps.dims {
		if n > 1 {
			axes = append(axes, axis{n, v.steps.strides[i], to[i]})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return b.from - a.from })
	buf, free := v.data.scratch.chunk(min(v.reach(axes), v.data.size))
	defer free()
	w := &window{r: r, size: v.data.size, buf: buf}
	at := make([]int, len(axes))
	swapped := make([]byte, 0, v.width)
	from, pos := 0, 0
	for {
		run, err := w.at(v.off+int64(from)*int64(v.width), int(v.width))
		if err != nil {
			return err
		}
		if v.swap > 1 {
			// A copy: an element of the window may be visited again.
			run = append(swapped[:0], run...)
			swapBytes(run, int(v.swap))
		}
		if err := fn(pos, run); err != nil {
			return err
		}
		i := len(axes) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < axes[i].size {
				from, pos = from+axes[i].from, pos+axes[i].to
				break
			}
			at[i] = 0
			from -= axes[i].from * (axes[i].size - 1)
			pos -= axes[i].to * (axes[i].size - 1)
		}
		if i < 0 {
			return nil
		}
	}
}

// reach returns how many bytes to read at once: elements far apart would each
// pay for a whole chunk of which they use a few bytes.
func (v *view) reach(axes []axis) int64 {
	const far = 4 << 10
	width := int64(v.width)
	for i := len(axes) - 1; i >= 0; i-- {
		if step := int64(axes[i].from) * width; step >= far {
			return max(width, 512)
		} else if step > 0 {
			break
		}
	}
	return max(width, chunkSize)
}

// permuted returns the view with its dimensions in another order, and its new
// shape; shape is that of v.
func (v *view) permuted(shape []int, order ...int) (view, []int) {
	strides := rowMajor(shape)
	if v.steps != nil {
		strides = v.steps.strides
	}
	dims, moved := make([]int, len(order)), make([]int, len(order))
	for i, o := range order {
		dims[i], moved[i] = shape[o], strides[o]
	}
	p := *v
	p.steps = stepsOf(dims, moved)
	return p, dims
}
