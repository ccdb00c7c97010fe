package float16

import "math"

// Max is the largest finite number of IEEE 754 binary16.
const Max = 65504

// Round rounds to the nearest binary16, ties to even. The magnitude of v must
// not exceed Max.
func Round(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	if b < 0x38800000 { // below the smallest normal number: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1 // rounds the 13 bits that go; a carry moves the exponent
	return sign | uint16((b-(127-15)<<23)>>13)
}

// Float32 is the number that a binary16 holds.
func Float32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0:
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// Table is a table of all binary16 numbers.
func Table() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for h := range t {
		t[h] = Float32(uint16(h))
	}
	return t
}
