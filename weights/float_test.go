package weights

import (
	"encoding/binary"
	"math"
	"testing"
)

// minifloat is the definition of a binary floating-point format (IEEE 754-2019,
// 3.4): sign, exponent with a bias, fraction; exponent 0 is subnormal.
func minifloat(b uint32, expBits, fracBits, bias int) float64 {
	frac := float64(b & (1<<fracBits - 1))
	exp := int(b>>fracBits) & (1<<expBits - 1)
	sign := 1 - 2*float64(b>>(expBits+fracBits)&1)
	scale := math.Ldexp(1, -fracBits)
	if exp == 0 {
		return math.Copysign(frac*scale*math.Ldexp(1, 1-bias), sign)
	}
	return sign * (1 + frac*scale) * math.Ldexp(1, exp-bias)
}

func TestEveryFloat16IsExact(t *testing.T) {
	for b := range uint32(1 << 16) {
		got := float64(half(uint16(b)))
		switch exp, frac := b>>10&31, b&1023; {
		case exp == 31 && frac != 0:
			if !math.IsNaN(got) {
				t.Fatalf("%#04x = %v, want NaN", b, got)
			}
		case exp == 31:
			if !math.IsInf(got, 1-2*int(b>>15)) {
				t.Fatalf("%#04x = %v, want an infinity", b, got)
			}
		default:
			if want := minifloat(b, 5, 10, 15); got != want || math.Signbit(got) != math.Signbit(want) {
				t.Fatalf("%#04x = %v, want %v", b, got, want)
			}
		}
	}
}

func TestEveryFloat8IsExact(t *testing.T) {
	for _, f := range []struct {
		d             DType
		exp, frac     int
		bias          int
		nan, infinity func(b uint32) bool
	}{
		{Float8E4M3, 4, 3, 7, func(b uint32) bool { return b&127 == 127 }, nil},
		{Float8E5M2, 5, 2, 15, func(b uint32) bool { return b&127 > 124 }, func(b uint32) bool { return b&127 == 124 }},
		{Float8E4M3FNUZ, 4, 3, 8, func(b uint32) bool { return b == 128 }, nil},
		{Float8E5M2FNUZ, 5, 2, 16, func(b uint32) bool { return b == 128 }, nil},
	} {
		for b := range uint32(256) {
			got := float64(float8(uint8(b), f.d))
			switch {
			case f.nan(b):
				if !math.IsNaN(got) {
					t.Errorf("%v %#02x = %v, want NaN", f.d, b, got)
				}
			case f.infinity != nil && f.infinity(b):
				if !math.IsInf(got, 0) {
					t.Errorf("%v %#02x = %v, want an infinity", f.d, b, got)
				}
			default:
				if want := minifloat(b, f.exp, f.frac, f.bias); got != want || math.Signbit(got) != math.Signbit(want) {
					t.Errorf("%v %#02x = %v, want %v", f.d, b, got, want)
				}
			}
		}
	}
	// The largest numbers stated in the OCP 8-bit specification.
	for b, want := range map[uint8]float32{0x7e: 448, 0x01: 0x1p-9} {
		if got := float8(b, Float8E4M3); got != want {
			t.Errorf("E4M3 %#02x = %v, want %v", b, got, want)
		}
	}
	for b, want := range map[uint8]float32{0: 0x1p-127, 127: 1, 254: 0x1p127} {
		if got := float8(b, Float8E8M0); got != want {
			t.Errorf("E8M0 %d = %v, want %v", b, got, want)
		}
	}
}

func TestConversionsRoundAsDocumented(t *testing.T) {
	le := binary.LittleEndian
	u64 := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	for _, c := range []struct {
		d    DType
		src  []byte
		want float32
	}{
		{Float64, u64(math.Float64bits(1 + 0x1p-24)), 1},                   // a tie goes to even
		{Float64, u64(math.Float64bits(1 + 3*0x1p-24)), 1 + 0x1p-22},       // up to even
		{Float64, u64(math.Float64bits(1e39)), float32(math.Inf(1))},       // beyond the range
		{Int64, u64(1<<24 + 1), 1 << 24},                                   // rounded
		{Int64, u64(math.MaxUint64), -1},                                   // negative
		{Uint64, u64(math.MaxUint64), 1 << 32 * (1 << 32)},                 // unsigned
		{Int32, le.AppendUint32(nil, math.MaxUint32), -1},                  //
		{Uint32, le.AppendUint32(nil, math.MaxUint32), 1 << 32},            //
		{Int16, le.AppendUint16(nil, 0xfffe), -2},                          //
		{Uint16, le.AppendUint16(nil, 0xfffe), 65534},                      //
		{Int8, []byte{0x80}, -128},                                         //
		{Uint8, []byte{0x80}, 128},                                         //
		{Bool, []byte{2}, 1},                                               // any nonzero byte
		{BFloat16, []byte{0x80, 0xbf}, -1},                                 //
		{Float32, le.AppendUint32(nil, 1), math.SmallestNonzeroFloat32},    // subnormals survive
		{BFloat16, []byte{0x01, 0x00}, math.Float32frombits(0x0000_10000)}, //
	} {
		var got [1]float32
		if err := decodeFloat32(got[:], c.src, c.d); err != nil || got[0] != c.want {
			t.Errorf("%v % x = %v (%v), want %v", c.d, c.src, got[0], err, c.want)
		}
	}
}

func TestTypesWithoutValuesAreRefusedButTheirBytesAreRead(t *testing.T) {
	for _, d := range []DType{Float4, Float6E2M3, Float6E3M2, Complex64} {
		header := `{"x":{"dtype":"` + d.Code() + `","shape":[8],"data_offsets":[0,` + map[int]string{4: "4", 6: "6", 64: "64"}[d.Bits()] + `]}}`
		f, err := openBytes("x.safetensors", safetensorsOf(header, make([]byte, d.Bits())))
		if err != nil {
			t.Errorf("%v: %v", d, err)
			continue
		}
		if p, err := f.Bytes("x"); err != nil || len(p) != d.Bits() {
			t.Errorf("%v: %d bytes (%v), want %d", d, len(p), err, d.Bits())
		}
		if _, err := f.Float32("x"); err == nil {
			t.Errorf("%v was converted to float32", d)
		}
	}
}
