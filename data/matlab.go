package data

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf16"

	"github.com/vernier-ml/vernier/data/pixels"
)

// matValue is an array of a MATLAB file. Of the contents only those of its kind
// are set, in column-major order.
type matValue struct {
	dims    []int
	numbers []float64
	text    string
	cells   []*matValue
	fields  map[string][]*matValue // of a structure: one value an element
}

// number is the only number of v.
func (v *matValue) number() (float64, error) {
	if v == nil || len(v.numbers) != 1 {
		return 0, errors.New("not a single number")
	}
	return v.numbers[0], nil
}

// Data types and array classes of the level 5 format ("MAT-File Format", The
// MathWorks, tables 1-1 and 1-3).
const (
	miInt8, miUint8, miInt16, miUint16, miInt32, miUint32 = 1, 2, 3, 4, 5, 6
	miSingle, miDouble, miInt64, miUint64                 = 7, 9, 12, 13
	miMatrix, miCompressed, miUTF8, miUTF16               = 14, 15, 16, 17

	mxCell, mxStruct, mxChar       = 1, 2, 4
	mxDouble, mxUint64             = 6, 15 // the numeric classes lie between
	matHeader                      = 128
	matMaxDepth                    = 16
	matMaxBytes              int64 = 1 << 25 // of a file, and of what is compressed in it
	matMaxNumbers                  = 1 << 24 // in all arrays
	matMaxDims                     = 32
)

var errMatCut = errors.New("a MATLAB file that ends too early")

// readMAT returns the variables of a MATLAB level 5 file (version 5 to 7.2; the
// HDF5 files of version 7.3 are refused). Kinds that no data set needs (sparse
// arrays, objects) come out empty.
func readMAT(file []byte) (map[string]*matValue, error) {
	if err := checkList(file); err != nil {
		return nil, err
	}
	if len(file) < matHeader {
		return nil, errMatCut
	}
	if int64(len(file)) > matMaxBytes {
		return nil, fmt.Errorf("%w: a MATLAB file of %d bytes, at most %d are read", pixels.ErrTooLarge, len(file), matMaxBytes)
	}
	if bytes.HasPrefix(file, []byte("MATLAB 7.3")) {
		return nil, errors.New("a MATLAB 7.3 file; save it as version 7 or older (save -v7)")
	}
	var order binary.ByteOrder
	switch string(file[126:128]) {
	case "IM":
		order = binary.LittleEndian
	case "MI":
		order = binary.BigEndian
	default:
		return nil, errors.New("not a MATLAB level 5 file")
	}
	r := &matReader{order: order, left: matMaxBytes, numbers: matMaxNumbers}
	vars := map[string]*matValue{}
	for rest := file[matHeader:]; len(rest) > 0; {
		kind, body, after, err := r.element(rest)
		if err != nil {
			return nil, err
		}
		rest = after
		if kind == miCompressed {
			if kind, body, err = r.inflate(body); err != nil {
				return nil, err
			}
		}
		if kind != miMatrix {
			continue
		}
		name, v, err := r.matrix(body, 0)
		if err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
		vars[name] = v
	}
	return vars, nil
}

type matReader struct {
	order binary.ByteOrder
	left  int64 // bytes that may still be decompressed
	// numbers may still be read.
	numbers int
}

// element splits off the first data element.
func (r *matReader) element(b []byte) (kind int, body, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, nil, errMatCut
	}
	tag := r.order.Uint32(b)
	if size := int(tag >> 16); size != 0 { // up to 4 bytes, within the tag
		if size > 4 {
			return 0, nil, nil, fmt.Errorf("a small element of %d bytes", size)
		}
		return int(tag & 0xffff), b[4 : 4+size], b[8:], nil
	}
	kind, size := int(tag), int64(r.order.Uint32(b[4:]))
	if size > int64(len(b)-8) {
		return 0, nil, nil, errMatCut
	}
	body, rest = b[8:8+size], b[8+size:]
	if kind != miCompressed {
		rest = rest[min(int(-size&7), len(rest)):]
	}
	return kind, body, rest, nil
}

func (r *matReader) inflate(b []byte) (kind int, body []byte, err error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return 0, nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, r.left+1))
	if err != nil {
		return 0, nil, err
	}
	if r.left -= int64(len(plain)); r.left < 0 {
		return 0, nil, fmt.Errorf("%w: more than %d bytes decompressed", pixels.ErrTooLarge, matMaxBytes)
	}
	kind, body, _, err = r.element(plain)
	return kind, body, err
}

// matrix reads an array: flags, dimensions, name, contents.
func (r *matReader) matrix(b []byte, depth int) (name string, v *matValue, err error) {
	if len(b) == 0 { // an empty array may leave all of it out
		return "", new(matValue), nil
	}
	if depth > matMaxDepth {
		return "", nil, errors.New("arrays nested too deeply")
	}
	var parts [3][]byte
	for i := range parts {
		if _, parts[i], b, err = r.element(b); err != nil {
			return "", nil, err
		}
	}
	if len(parts[0]) < 4 {
		return "", nil, errMatCut
	}
	class := int(r.order.Uint32(parts[0]) & 0xff)
	name = string(parts[2])
	if len(parts[1]) > 4*matMaxDims {
		return name, nil, fmt.Errorf("an array of %d dimensions", len(parts[1])/4)
	}
	v = new(matValue)
	count := 1
	for d := parts[1]; len(d) >= 4; d = d[4:] {
		n := int(int32(r.order.Uint32(d)))
		if n < 0 || n > 0 && count > len(b)/n+1 && class != mxChar {
			return name, nil, fmt.Errorf("dimension %d in an array of %d bytes", n, len(b))
		}
		v.dims = append(v.dims, n)
		count *= n
	}
	switch {
	case class == mxCell:
		v.cells, _, err = r.matrices(b, count, depth)
	case class == mxStruct:
		err = r.structure(v, b, count, depth)
	case class == mxChar:
		v.text, err = r.char(b)
	case class >= mxDouble && class <= mxUint64:
		v.numbers, err = r.numeric(b)
		if err == nil && len(v.numbers) != count {
			err = fmt.Errorf("%d numbers in an array of %v", len(v.numbers), v.dims)
		}
	}
	return name, v, err
}

// matrices reads count arrays that follow each other.
func (r *matReader) matrices(b []byte, count, depth int) ([]*matValue, []byte, error) {
	if count > len(b)/8 {
		return nil, nil, errMatCut
	}
	list := make([]*matValue, count)
	for i := range list {
		kind, body, rest, err := r.element(b)
		if err != nil {
			return nil, nil, err
		}
		if kind != miMatrix {
			return nil, nil, fmt.Errorf("element of type %d where an array is due", kind)
		}
		if _, list[i], err = r.matrix(body, depth+1); err != nil {
			return nil, nil, err
		}
		b = rest
	}
	return list, b, nil
}

func (r *matReader) structure(v *matValue, b []byte, count, depth int) error {
	_, length, b, err := r.element(b)
	if err != nil {
		return err
	}
	_, names, b, err := r.element(b)
	if err != nil {
		return err
	}
	if len(length) < 4 {
		return errMatCut
	}
	width := int(r.order.Uint32(length))
	if width < 1 || width > 1024 {
		return fmt.Errorf("field names of %d bytes", width)
	}
	v.fields = map[string][]*matValue{}
	switch fields := len(names) / width; {
	case fields == 0:
		return nil
	case count > len(b)/8/fields: // each value takes 8 bytes or more
		return errMatCut
	}
	var order []string
	for ; len(names) >= width; names = names[width:] {
		name, _, _ := strings.Cut(string(names[:width]), "\x00")
		order = append(order, name)
		v.fields[name] = make([]*matValue, 0, count)
	}
	for range count {
		values, rest, err := r.matrices(b, len(order), depth)
		if err != nil {
			return err
		}
		for i, name := range order {
			v.fields[name] = append(v.fields[name], values[i])
		}
		b = rest
	}
	return nil
}

func (r *matReader) char(b []byte) (string, error) {
	kind, body, _, err := r.element(b)
	if err != nil {
		return "", err
	}
	if kind != miUint16 && kind != miUTF16 {
		return string(body), nil
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = r.order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// numeric reads the real part, stored in whatever type is smallest.
func (r *matReader) numeric(b []byte) ([]float64, error) {
	if len(b) == 0 {
		return nil, nil
	}
	kind, body, _, err := r.element(b)
	if err != nil {
		return nil, err
	}
	size := map[int]int{miInt8: 1, miUint8: 1, miInt16: 2, miUint16: 2, miInt32: 4, miUint32: 4, miSingle: 4, miDouble: 8, miInt64: 8, miUint64: 8}[kind]
	if size == 0 {
		return nil, fmt.Errorf("numbers of type %d", kind)
	}
	if r.numbers -= len(body) / size; r.numbers < 0 {
		return nil, fmt.Errorf("%w: more than %d numbers", pixels.ErrTooLarge, matMaxNumbers)
	}
	list := make([]float64, len(body)/size)
	for i := range list {
		p := body[i*size:]
		switch kind {
		case miInt8:
			list[i] = float64(int8(p[0]))
		case miUint8:
			list[i] = float64(p[0])
		case miInt16:
			list[i] = float64(int16(r.order.Uint16(p)))
		case miUint16:
			list[i] = float64(r.order.Uint16(p))
		case miInt32:
			list[i] = float64(int32(r.order.Uint32(p)))
		case miUint32:
			list[i] = float64(r.order.Uint32(p))
		case miSingle:
			list[i] = float64(math.Float32frombits(r.order.Uint32(p)))
		case miDouble:
			list[i] = math.Float64frombits(r.order.Uint64(p))
		case miInt64:
			list[i] = float64(int64(r.order.Uint64(p)))
		case miUint64:
			list[i] = float64(r.order.Uint64(p))
		}
	}
	return list, nil
}
