package weights

import "fmt"

// DType is the type of the elements of a tensor. Its zero value is Float32.
type DType uint8

// The element types of the formats read here. Multi-byte elements are
// little-endian wherever this package hands out bytes.
const (
	Float32 DType = iota
	Float64
	Float16
	BFloat16
	Int64
	Int32
	Int16
	Int8
	Uint64
	Uint32
	Uint16
	Uint8
	Bool
	// Float8E4M3 has 4 exponent bits, no infinities, NaN at 0x7f and 0xff (OCP E4M3FN).
	Float8E4M3
	// Float8E5M2 has 5 exponent bits and IEEE infinities and NaNs (OCP E5M2).
	Float8E5M2
	// Float8E8M0 is a power of two, 2^(b-127); 0xff is NaN (OCP MX scale).
	Float8E8M0
	// Float8E4M3FNUZ has bias 8, no infinities, no negative zero, NaN at 0x80.
	Float8E4M3FNUZ
	// Float8E5M2FNUZ has bias 16, no infinities, no negative zero, NaN at 0x80.
	Float8E5M2FNUZ
	// Float6E2M3, Float6E3M2 and Float4 are packed without gaps; their bytes can be
	// read, but not their values.
	Float6E2M3
	Float6E3M2
	Float4
	Complex64
	Complex128
	// Text is NumPy's fixed-width Unicode (U); see Tensor.Strings.
	Text
	// ByteText is NumPy's fixed-width text of bytes (S); see Tensor.Strings.
	ByteText

	dtypeCount
)

// dtypeFacts describes one element type.
type dtypeFacts struct {
	name string // as torch and NumPy call it
	code string // in a safetensors header; "" if the format lacks it
	npy  string // kind and width in a NumPy descr; "" if NumPy lacks it
	bits int    // 0 for texts, whose width belongs to the array
}

// facts is a function and not a variable so that nothing can change it.
func (d DType) facts() dtypeFacts {
	switch d {
	case Float32:
		return dtypeFacts{"float32", "F32", "f4", 32}
	case Float64:
		return dtypeFacts{"float64", "F64", "f8", 64}
	case Float16:
		return dtypeFacts{"float16", "F16", "f2", 16}
	case BFloat16:
		return dtypeFacts{"bfloat16", "BF16", "", 16}
	case Int64:
		return dtypeFacts{"int64", "I64", "i8", 64}
	case Int32:
		return dtypeFacts{"int32", "I32", "i4", 32}
	case Int16:
		return dtypeFacts{"int16", "I16", "i2", 16}
	case Int8:
		return dtypeFacts{"int8", "I8", "i1", 8}
	case Uint64:
		return dtypeFacts{"uint64", "U64", "u8", 64}
	case Uint32:
		return dtypeFacts{"uint32", "U32", "u4", 32}
	case Uint16:
		return dtypeFacts{"uint16", "U16", "u2", 16}
	case Uint8:
		return dtypeFacts{"uint8", "U8", "u1", 8}
	case Bool:
		return dtypeFacts{"bool", "BOOL", "b1", 8}
	case Float8E4M3:
		return dtypeFacts{"float8_e4m3fn", "F8_E4M3", "", 8}
	case Float8E5M2:
		return dtypeFacts{"float8_e5m2", "F8_E5M2", "", 8}
	case Float8E8M0:
		return dtypeFacts{"float8_e8m0fnu", "F8_E8M0", "", 8}
	case Float8E4M3FNUZ:
		return dtypeFacts{"float8_e4m3fnuz", "F8_E4M3FNUZ", "", 8}
	case Float8E5M2FNUZ:
		return dtypeFacts{"float8_e5m2fnuz", "F8_E5M2FNUZ", "", 8}
	case Float6E2M3:
		return dtypeFacts{"float6_e2m3", "F6_E2M3", "", 6}
	case Float6E3M2:
		return dtypeFacts{"float6_e3m2", "F6_E3M2", "", 6}
	case Float4:
		return dtypeFacts{"float4_e2m1", "F4", "", 4}
	case Complex64:
		return dtypeFacts{"complex64", "C64", "c8", 64}
	case Complex128:
		return dtypeFacts{"complex128", "", "c16", 128}
	case Text:
		return dtypeFacts{"text", "", "", 0}
	case ByteText:
		return dtypeFacts{"text of bytes", "", "", 0}
	}
	return dtypeFacts{name: fmt.Sprintf("DType(%d)", uint8(d))}
}

// String returns the name that torch and NumPy give the type, such as "float32".
func (d DType) String() string { return d.facts().name }

// Code returns the name of the type in a safetensors header, such as "F32", or
// "" if the format has no such type.
func (d DType) Code() string { return d.facts().code }

// Bits returns the size of an element, or 0 for texts.
func (d DType) Bits() int { return d.facts().bits }

// swapUnit is the number of bytes that change places between byte orders.
func (d DType) swapUnit() int {
	switch d {
	case Complex64, Text:
		return 4
	case ByteText:
		return 1
	case Complex128:
		return 8
	}
	return d.Bits() / 8
}

// dtypeByCode finds the type of a safetensors code.
func dtypeByCode(code string) (DType, bool) {
	for d := range dtypeCount {
		if c := d.Code(); c != "" && c == code {
			return d, true
		}
	}
	return 0, false
}

// dtypeByName finds the type of a torch name.
func dtypeByName(name string) (DType, bool) {
	for d := range dtypeCount {
		if d.Bits() > 0 && d.String() == name {
			return d, true
		}
	}
	return 0, false
}
