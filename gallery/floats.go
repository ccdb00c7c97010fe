package gallery

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// littleEndian reports whether numbers in memory are as they are in files.
func littleEndian() bool {
	var one [2]byte
	binary.NativeEndian.PutUint16(one[:], 1)
	return one[0] == 1
}

// viewBytes are the bytes of numbers in memory.
func viewBytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// floatBytes are numbers as little-endian bytes; they share memory where they can.
func floatBytes(x []float32) []byte {
	if littleEndian() {
		return viewBytes(x)
	}
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// floatsFrom returns bytes that are to be filled with little-endian numbers; done
// puts them into x.
func floatsFrom(x []float32) (b []byte, done func()) {
	b = viewBytes(x)
	if littleEndian() {
		return b, func() {}
	}
	b = make([]byte, len(b))
	return b, func() {
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
}

// notFinite is the place of the first number that is NaN or infinite, or -1.
func notFinite(x []float32) int {
	// Such a number has an exponent of ones alone: one more carries into the sign.
	const sign, one = 1 << 31, 1 << 23
	all := uint32(0)
	for _, v := range x {
		all |= math.Float32bits(v)&^sign + one
	}
	if all&sign == 0 {
		return -1
	}
	return slices.IndexFunc(x, func(v float32) bool { return math.Float32bits(v)&^sign+one >= sign })
}
