package weights

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Decode converts len(dst) little-endian elements of src, as Tensor.Float32 does.
// src must hold len(dst) elements, and d must be a type of whole bytes.
func Decode(dst []float32, src []byte, d DType) error {
	if have, want := len(src), len(dst)*d.Bits()/8; have != want || d.Bits()%8 != 0 {
		return fmt.Errorf("weights: %d bytes for %d elements of %v, want %d", have, len(dst), d, want)
	}
	return decodeFloat32(dst, src, d)
}

// decodeFloat32 converts len(dst) little-endian elements of src. See
// Tensor.Float32 for the rounding.
func decodeFloat32(dst []float32, src []byte, d DType) error {
	le := binary.LittleEndian
	switch d {
	case Float32:
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case Float64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(src[8*i:])))
		}
	case Float16:
		for i := range dst {
			dst[i] = half(le.Uint16(src[2*i:]))
		}
	case BFloat16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(le.Uint16(src[2*i:])) << 16)
		}
	case Int64:
		for i := range dst {
			dst[i] = float32(int64(le.Uint64(src[8*i:])))
		}
	case Int32:
		for i := range dst {
			dst[i] = float32(int32(le.Uint32(src[4*i:])))
		}
	case Int16:
		for i := range dst {
			dst[i] = float32(int16(le.Uint16(src[2*i:])))
		}
	case Int8:
		for i := range dst {
			dst[i] = float32(int8(src[i]))
		}
	case Uint64:
		for i := range dst {
			dst[i] = float32(le.Uint64(src[8*i:]))
		}
	case Uint32:
		for i := range dst {
			dst[i] = float32(le.Uint32(src[4*i:]))
		}
	case Uint16:
		for i := range dst {
			dst[i] = float32(le.Uint16(src[2*i:]))
		}
	case Uint8:
		for i := range dst {
			dst[i] = float32(src[i])
		}
	case Bool:
		for i := range dst {
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	case Float8E4M3, Float8E5M2, Float8E8M0, Float8E4M3FNUZ, Float8E5M2FNUZ:
		for i := range dst {
			dst[i] = float8(src[i], d)
		}
	default:
		return fmt.Errorf("%v has no conversion to float32", d)
	}
	return nil
}

// half converts an IEEE 754 binary16 number. Every one is exact in float32.
func half(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0: // zero or subnormal: frac * 2^-24
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 0x1f: // infinity or NaN, payload kept
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// float8 converts the 8-bit formats of the OCP specifications (OFP8 and MX
// v1.0) and their FNUZ variants. Every value is exact in float32.
func float8(b uint8, d DType) float32 {
	nan := float32(math.NaN())
	var fracBits, bias int
	switch d {
	case Float8E8M0:
		if b == 0xff {
			return nan
		}
		return float32(math.Ldexp(1, int(b)-127))
	case Float8E4M3:
		if b&0x7f == 0x7f {
			return nan
		}
		fracBits, bias = 3, 7
	case Float8E5M2:
		return half(uint16(b) << 8) // the upper byte of a binary16
	case Float8E4M3FNUZ, Float8E5M2FNUZ:
		if b == 0x80 {
			return nan
		}
		fracBits, bias = 3, 8
		if d == Float8E5M2FNUZ {
			fracBits, bias = 2, 16
		}
	}
	exp := int(b&0x7f) >> fracBits
	frac := int(b) & (1<<fracBits - 1)
	if exp > 0 {
		frac |= 1 << fracBits
	} else {
		exp = 1 // subnormal
	}
	v := math.Ldexp(float64(frac), exp-bias-fracBits)
	if b&0x80 != 0 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}

// swapBytes reverses every group of unit bytes in place.
func swapBytes(p []byte, unit int) {
	for ; len(p) >= unit; p = p[unit:] {
		for i, j := 0, unit-1; i < j; i, j = i+1, j-1 {
			p[i], p[j] = p[j], p[i]
		}
	}
}
