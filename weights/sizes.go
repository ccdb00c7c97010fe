package weights

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// maxRank bounds the number of dimensions of a tensor (NumPy and torch: 64).
const maxRank = 64

// count returns the number of elements of a shape. It fails for negative sizes
// and for products beyond 63 bits, also where a zero elsewhere would hide them.
func count(shape []int) (int64, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("a shape of %d dimensions, at most %d are allowed", len(shape), maxRank)
	}
	n, zero := int64(1), false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative size", shape)
		}
		if d == 0 {
			zero = true
			continue
		}
		var ok bool
		if n, ok = mul(n, int64(d)); !ok {
			return 0, fmt.Errorf("the number of elements of shape %v does not fit 63 bits", shape)
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// byteSize returns the bytes of n elements of d, which must be a whole number.
func byteSize(n int64, d DType) (int64, error) {
	total, ok := mul(n, int64(d.Bits()))
	if !ok {
		return 0, fmt.Errorf("%d elements of %v: the size does not fit 63 bits", n, d)
	}
	if total%8 != 0 {
		return 0, fmt.Errorf("%d elements of %v are not a whole number of bytes", n, d)
	}
	return total / 8, nil
}

// mul multiplies numbers that are not negative.
func mul(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

// rowMajor returns the strides, in elements, of a contiguous array.
func rowMajor(shape []int) []int {
	strides := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// isRowMajor reports whether strides walk a shape without gaps in row-major
// order. The stride of a dimension of size 1 does not matter.
func isRowMajor(shape, strides []int) bool {
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] != 1 && strides[i] != step {
			return false
		}
		step *= max(shape[i], 1)
	}
	return true
}

// budget bounds what the description of a file (names, shapes, directories,
// dictionaries) may take in memory. Descriptions are a small part of an honest
// file; one that unfolds to a multiple of its file is refused.
type budget struct {
	left, fileSize int64
}

const (
	// budgetFactor and budgetFloor: a file of nothing but scalars needs close to
	// 5 times its size for their description, and small files some room.
	budgetFactor = 5
	budgetFloor  = 1 << 20
)

func newBudget(fileSize int64) *budget {
	return &budget{left: budgetFactor*fileSize + budgetFloor, fileSize: fileSize}
}

// tensorCost is the memory of a tensor and its slot in the index of names.
const tensorCost = int64(unsafe.Sizeof(Tensor{})) + 48

// take accounts for n bytes that are about to be allocated.
func (b *budget) take(n int64) error {
	if n < 0 || n > b.left {
		return fmt.Errorf("reading its description would take more than %d times its %d bytes of memory", budgetFactor, b.fileSize)
	}
	b.left -= n
	return nil
}
