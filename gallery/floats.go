package gallery

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// floats views little-endian float32 numbers in place; on a machine of the
// other order it copies them. b is aligned to four bytes.
func floats(b []byte) []float32 {
	n := len(b) / 4
	if n == 0 {
		return nil
	}
	var one [2]byte
	binary.NativeEndian.PutUint16(one[:], 1)
	if one[0] == 1 {
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
