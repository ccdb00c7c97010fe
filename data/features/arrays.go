package features

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/internal/disk"
	"github.com/vernier-ml/vernier/weights"
)

// openArrays opens .npy, .npz, .safetensors and PyTorch files.
func (f *File) openArrays() error {
	file, err := openWeights(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	t, err := rowsTensor(file, f.part)
	if err != nil {
		return err
	}
	f.inside, f.metric = arraysInside{f.path, oneDimensional(file, t.Name)}, metricOf(file)
	f.rows, f.width, f.stored = t.Shape[0], t.Shape[1], t.DType
	if t.Len() == 0 {
		return nil
	}
	off, size, ok, err := t.Extent()
	if err != nil {
		return err
	}
	if !ok {
		f.held, err = t.Float32()
		return err
	}
	whole, unmap, err := disk.Map(f.path)
	if err != nil {
		return err
	}
	f.unmap = unmap
	if int64(len(whole)) < off+size { // it was cut since it was opened
		f.Close()
		return errors.New("the file is cut off")
	}
	f.mapped = whole[off : off+size]
	return nil
}

func openWeights(path string) (*weights.File, error) {
	file, err := weights.Open(path)
	if err != nil {
		// The name is said by whoever opened it.
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return nil, err
	}
	if _, err := file.Verify(); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// rowsTensor finds the array of rows: the part, or the only one of two dimensions, or
// of these the one with a usual name.
func rowsTensor(file *weights.File, part string) (*weights.Tensor, error) {
	var candidates []string
	for _, t := range file.Tensors() {
		if len(t.Shape) == 2 && t.DType.Bits() >= 8 {
			candidates = append(candidates, t.Name)
		}
	}
	switch {
	case part != "":
		if !slices.Contains(file.Names(), part) {
			return nil, unknown(part, file.Names())
		}
	case len(candidates) > 0:
		var err error
		if part, err = choose(candidates, rowNames[:], "of rows"); err != nil {
			return nil, err
		}
	case len(file.Tensors()) == 1:
		part = file.Names()[0]
	default:
		return nil, fmt.Errorf("none of its %d arrays has two dimensions: want rows of numbers (rows, numbers)", len(file.Tensors()))
	}
	t, err := file.Tensor(part)
	if err != nil {
		return nil, err
	}
	switch {
	case len(t.Shape) == 1:
		return nil, fmt.Errorf("the array has shape %v, want two dimensions: (rows, numbers); x.reshape(1, -1) makes it one row, x.reshape(-1, D) rows of D numbers", t.Shape)
	case len(t.Shape) != 2:
		return nil, fmt.Errorf("the array has shape %v, want two dimensions: (rows, numbers); reshape it, for example x.reshape(len(x), -1)", t.Shape)
	}
	if err := weights.Decode(nil, nil, t.DType); err != nil || t.DType == weights.Bool {
		return nil, fmt.Errorf("the array holds %v, want numbers", t.DType)
	}
	return t, nil
}

// arraysInside are the arrays of a file beside the rows.
type arraysInside struct {
	path string
	list []string
}

func (a arraysInside) names() []string { return a.list }

// oneDimensional are the arrays of one value a row, but for that of the rows.
func oneDimensional(file *weights.File, without string) []string {
	var names []string
	for _, t := range file.Tensors() {
		flat := len(t.Shape) == 1 || len(t.Shape) == 2 && t.Shape[1] == 1
		if flat && (t.Name != without || len(file.Tensors()) == 1 && without == "") {
			names = append(names, t.Name)
		}
	}
	return names
}

func (a arraysInside) column(name string) (*Column, error) {
	file, err := openWeights(a.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !slices.Contains(file.Names(), name) {
		return nil, unknown(name, a.list)
	}
	t, err := file.Tensor(name)
	if err != nil {
		return nil, err
	}
	return columnOf(t)
}

// arrayColumns are the arrays of one dimension of a file.
func arrayColumns(path string) (columns, error) {
	file, err := openWeights(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if ts := file.Tensors(); len(ts) == 1 {
		if _, err := columnOf(ts[0]); err != nil {
			return nil, err
		}
	}
	return arraysInside{path, oneDimensional(file, "")}, nil
}

// columnOf reads an array of (rows) or (rows, 1).
func columnOf(t *weights.Tensor) (*Column, error) {
	if len(t.Shape) != 1 && !(len(t.Shape) == 2 && t.Shape[1] == 1) {
		hint := ""
		if len(t.Shape) == 2 {
			hint = "; of one-hot rows take x.argmax(axis=1)"
		}
		return nil, fmt.Errorf("the array of labels has shape %v, want one value a row%s", t.Shape, hint)
	}
	if t.DType == weights.Text || t.DType == weights.ByteText {
		texts, err := t.Strings()
		return &Column{Texts: texts}, err
	}
	ints, err := integers(t)
	return &Column{Ints: ints}, err
}

// integers reads whole numbers of any type, also those that are floating-point.
func integers(t *weights.Tensor) ([]int, error) {
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	var read func(b []byte) (int, bool)
	switch t.DType {
	case weights.Int64:
		read = func(b []byte) (int, bool) { return int(int64(le.Uint64(b))), true }
	case weights.Uint64:
		read = func(b []byte) (int, bool) { v := le.Uint64(b); return int(v), v <= math.MaxInt }
	case weights.Int32:
		read = func(b []byte) (int, bool) { return int(int32(le.Uint32(b))), true }
	case weights.Uint32:
		read = func(b []byte) (int, bool) { return int(le.Uint32(b)), true }
	case weights.Int16:
		read = func(b []byte) (int, bool) { return int(int16(le.Uint16(b))), true }
	case weights.Uint16:
		read = func(b []byte) (int, bool) { return int(le.Uint16(b)), true }
	case weights.Int8:
		read = func(b []byte) (int, bool) { return int(int8(b[0])), true }
	case weights.Uint8, weights.Bool:
		read = func(b []byte) (int, bool) { return int(b[0]), true }
	case weights.Float64:
		read = func(b []byte) (int, bool) { return whole(math.Float64frombits(le.Uint64(b))) }
	case weights.Float32:
		read = func(b []byte) (int, bool) { return whole(float64(math.Float32frombits(le.Uint32(b)))) }
	default:
		return nil, fmt.Errorf("labels are %v, want whole numbers or texts", t.DType)
	}
	size := t.DType.Bits() / 8
	out := make([]int, len(raw)/size)
	for i := range out {
		v, ok := read(raw[i*size:])
		if !ok {
			return nil, fmt.Errorf("label of row %d is no whole number of 63 bits: labels name classes, so want whole numbers or texts", i)
		}
		out[i] = v
	}
	return out, nil
}

// whole is a floating-point number that is whole.
func whole(v float64) (int, bool) {
	return int(v), v == math.Trunc(v) && math.Abs(v) <= 1<<53
}
