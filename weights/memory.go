package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// FromFloat32 makes a tensor of numbers in memory, row-major. It keeps data, which
// must have as many elements as shape and must not change while the tensor is
// used.
func FromFloat32(name string, shape []int, data []float32) (*Tensor, error) {
	encode := func(dst []byte, i int) { binary.LittleEndian.PutUint32(dst, math.Float32bits(data[i])) }
	return inMemory(name, Float32, shape, len(data), 4, encode)
}

// FromInt64 does the same with 64-bit integers.
func FromInt64(name string, shape []int, data []int64) (*Tensor, error) {
	encode := func(dst []byte, i int) { binary.LittleEndian.PutUint64(dst, uint64(data[i])) }
	return inMemory(name, Int64, shape, len(data), 8, encode)
}

// FromStrings makes a one-dimensional Text tensor. Strings must be UTF-8 and must
// not end in a zero character, which NumPy cannot tell from padding.
func FromStrings(name string, data []string) (*Tensor, error) {
	longest := 1 // NumPy has no strings of width 0
	for i, s := range data {
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("weights: %q: string %d (%q) is not UTF-8", name, i, s)
		}
		if s != "" && s[len(s)-1] == 0 {
			return nil, fmt.Errorf("weights: %q: string %d (%q) ends in a zero character", name, i, s)
		}
		longest = max(longest, utf8.RuneCountInString(s))
	}
	encode := func(dst []byte, i int) {
		clear(dst)
		j := 0
		for _, r := range data[i] {
			binary.LittleEndian.PutUint32(dst[j:], uint32(r))
			j += 4
		}
	}
	return inMemory(name, Text, []int{len(data)}, len(data), 4*longest, encode)
}

// decodeUTF32 drops the zero characters at the end, as NumPy does.
func decodeUTF32(p []byte) string {
	n := len(p) / 4
	for n > 0 && binary.LittleEndian.Uint32(p[4*n-4:]) == 0 {
		n--
	}
	s := make([]rune, n)
	for i := range s {
		if c := binary.LittleEndian.Uint32(p[4*i:]); c <= utf8.MaxRune {
			s[i] = rune(c)
		} else {
			s[i] = utf8.RuneError
		}
	}
	return string(s)
}

func inMemory(name string, d DType, shape []int, elems, width int, encode func(dst []byte, i int)) (*Tensor, error) {
	n, err := count(shape)
	if err != nil {
		return nil, fmt.Errorf("weights: %q: %w", name, err)
	}
	if n != int64(elems) {
		return nil, fmt.Errorf("weights: %q: shape %v has %d elements, the data have %d", name, shape, n, elems)
	}
	size := int64(elems) * int64(width)
	b := &blob{scratch: new(scratch), src: &encoded{size, width, encode}, pack: size, size: size, limit: size, what: name}
	return &Tensor{Name: name, DType: d, Shape: shape,
		data: view{data: b, nbytes: size, width: int32(width)}}, nil
}

// encoded presents a Go slice as little-endian bytes. It serves reads of whole
// elements only, which is all that views ask for.
type encoded struct {
	size   int64
	width  int
	encode func(dst []byte, i int)
}

// ReadAt implements io.ReaderAt.
func (e *encoded) ReadAt(p []byte, off int64) (int, error) {
	w := int64(e.width)
	if off%w != 0 {
		return 0, errors.New("weights: unaligned read of an array in memory")
	}
	n := min(int64(len(p)), e.size-off) / w * w
	for i := int64(0); i < n; i += w {
		e.encode(p[i:i+w], int((off+i)/w))
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}
