package pixels

import "encoding/binary"

// fastBits is how many bits of a stream are looked up at once.
const fastBits = 10

// jpegCodes decodes Huffman codes.
type jpegCodes struct {
	// fast tells, by the next fastBits bits: bits 0-4 how many are used up, bits
	// 8-15 the symbol, and with whole set, bits 16-31 the number that follows the
	// code. 0 is a longer code.
	fast [1 << fastBits]uint32
	// By length-1: the end of the codes of that length, left-aligned in 16 bits,
	// and what to add to a code to get the place of its symbol.
	limit   [16]int32
	offset  [16]int32
	symbols []uint8
}

const whole = 1 << 5

// newJPEGCodes makes the canonical code with counts[i] symbols of length i+1. In
// numbers codes, the low half of a symbol is the length of a number behind it.
func newJPEGCodes(counts [16]uint8, symbols []uint8, numbers bool) (*jpegCodes, bool) {
	t := &jpegCodes{symbols: symbols}
	code, place := int32(0), int32(0)
	for l := range 16 {
		bits := l + 1
		t.offset[l] = place - code
		for range counts[l] {
			if code >= 1<<bits {
				return nil, false
			}
			if bits <= fastBits {
				t.enter(code, bits, symbols[place], numbers)
			}
			code++
			place++
		}
		t.limit[l] = code << (16 - bits)
		code <<= 1
	}
	return t, true
}

// enter fills in all continuations of a code.
func (t *jpegCodes) enter(code int32, bits int, symbol uint8, numbers bool) {
	rest := fastBits - bits
	for k := range 1 << rest {
		e := uint32(symbol)<<8 | uint32(bits)
		if n := int(symbol & 15); numbers && n > 0 && n <= rest {
			v := extend(uint32(k)>>(rest-n), n)
			e = uint32(uint16(int16(v)))<<16 | uint32(symbol)<<8 | whole | uint32(bits+n)
		}
		t.fast[int(code)<<rest|k] = e
	}
}

// extend gives n bits their sign (ITU-T T.81, F.2.2.1).
func extend(bits uint32, n int) int32 {
	v := int32(bits)
	if v < 1<<(n-1) {
		v += 1 - 1<<n
	}
	return v
}

// bitStream reads the bits of a scan. bits holds the next n of them, from the top.
type bitStream struct {
	data   []byte
	at     int
	bits   uint64
	n      int
	missed int // bits that were made up since the data ended
}

// fill makes n at least 48. After the end it makes zeros up.
func (s *bitStream) fill() {
	if s.at+8 <= len(s.data) {
		v := binary.BigEndian.Uint64(s.data[s.at:])
		if (v&^(v+0x0101010101010101))&0x8080808080808080 == 0 { // no byte is 0xff
			s.bits |= v >> s.n
			k := (63 - s.n) >> 3
			s.at += k
			s.n += 8 * k
			return
		}
	}
	for s.n <= 56 {
		b := byte(0)
		switch {
		case s.at >= len(s.data):
			s.missed += 8
		case s.data[s.at] != 0xff:
			b = s.data[s.at]
			s.at++
		case s.at+1 < len(s.data) && s.data[s.at+1] == 0:
			b = 0xff
			s.at += 2
		default: // a marker
			s.missed += 8
		}
		// What an earlier call left below the n bits is the same byte again.
		s.bits |= uint64(b) << (56 - s.n)
		s.n += 8
	}
}

// ended says that bits were used that are not there.
func (s *bitStream) ended() bool { return s.missed > s.n }

// restart goes to what follows the next marker, which must be the given RST. Less
// than a byte may be unused before it.
func (s *bitStream) restart(number int) bool {
	if s.ended() || s.n-s.missed >= 8 || s.at+2 > len(s.data) || s.data[s.at] != 0xff || s.data[s.at+1] != 0xd0+byte(number) {
		return false
	}
	*s = bitStream{data: s.data, at: s.at + 2}
	return true
}

// take uses n bits up, 1 to 16, which must be there.
func (s *bitStream) take(n int) uint32 {
	v := uint32(s.bits >> (64 - n))
	s.bits <<= n
	s.n -= n
	return v
}

// long decodes a code that fast does not hold.
func (t *jpegCodes) long(s *bitStream) (symbol uint8, ok bool) {
	code := int32(s.bits >> 48)
	for l := fastBits; l < 16; l++ {
		if code < t.limit[l] {
			place := code>>(15-l) + t.offset[l]
			if place < 0 || int(place) >= len(t.symbols) {
				return 0, false
			}
			s.take(l + 1)
			return t.symbols[place], true
		}
	}
	return 0, false
}
