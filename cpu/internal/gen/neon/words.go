package main

import "fmt"

// The encodings are those of the Arm Architecture Reference Manual for A-profile, C7;
// the names those that binutils prints, so that a disassembler's output can be compared.

// three are instructions of three registers of four float32 or integers.
var three = map[string]uint32{
	"fadd": 0x4e20d400, "fsub": 0x4ea0d400, "fmul": 0x6e20dc00, "fdiv": 0x6e20fc00,
	"fmla": 0x4e20cc00, "fmls": 0x4ea0cc00, // d += n*m, d -= n*m
	"fmax": 0x4e20f400, "fmin": 0x4ea0f400, // NaN if one is
	"fabd":  0x6ea0d400,                                           // |n-m|
	"fcmeq": 0x4e20e400, "fcmge": 0x6e20e400, "fcmgt": 0x6ea0e400, // all bits of a lane
	"frecps": 0x4e20fc00, "frsqrts": 0x4ea0fc00, // 2-n*m, (3-n*m)/2
	"faddp": 0x6e20d400,
	"add":   0x4ea08400, "sub": 0x6ea08400, "umax": 0x6ea06400,
	"trn1": 0x4e802800, "trn2": 0x4e806800, "zip1": 0x4e803800, "zip2": 0x4e807800, "uzp1": 0x4e801800, "uzp2": 0x4e805800,
}

// double are those of two float64, bitwise those of all bits: bit inserts bits of n where
// m has them set.
var (
	double = map[string]uint32{
		"fadd": 0x4e60d400, "fsub": 0x4ee0d400, "fmla": 0x4e60cc00, "trn1": 0x4ec02800, "trn2": 0x4ec06800,
	}
	bitwise = map[string]uint32{"and": 0x4e201c00, "bic": 0x4e601c00, "orr": 0x4ea01c00, "bit": 0x6ea01c00, "bsl": 0x6e601c00}
)

// two are instructions of two registers.
var two = map[string]uint32{
	"fabs": 0x4ea0f800, "fneg": 0x6ea0f800, "fsqrt": 0x6ea1f800, "frecpe": 0x4ea1d800, "frsqrte": 0x6ea1d800,
}

// byLane have one number as the second factor.
var byLane = map[string]uint32{"fmla": 0x4f801000, "fmls": 0x4f805000, "fmul": 0x4f809000}

func find(of map[string]uint32, op string) uint32 {
	code, ok := of[op]
	if !ok {
		panic("no instruction " + op)
	}
	return code
}

func fields(d, n, m vec) uint32 { return uint32(m)<<16 | uint32(n)<<5 | uint32(d) }

// op is an instruction of three registers of four lanes.
func (k *kernel) op(op string, d, n, m vec) {
	k.word(find(three, op)|fields(d, n, m), "%s %v, %v, %v", op, d, n, m)
}

// op64 is op of float64.
func (k *kernel) op64(op string, d, n, m vec) {
	k.word(find(double, op)|fields(d, n, m), "%s v%d.2d, v%d.2d, v%d.2d", op, int(d), int(n), int(m))
}

// logic is op of all bits.
func (k *kernel) logic(op string, d, n, m vec) {
	if op == "orr" && n == m {
		op = "mov"
		k.word(bitwise["orr"]|fields(d, n, m), "mov v%d.16b, v%d.16b", int(d), int(n))
		return
	}
	k.word(find(bitwise, op)|fields(d, n, m), "%s v%d.16b, v%d.16b, v%d.16b", op, int(d), int(n), int(m))
}

func (k *kernel) copy(d, n vec) { k.logic("orr", d, n, n) }

// unary is an instruction of two registers.
func (k *kernel) unary(op string, d, n vec) {
	k.word(find(two, op)|fields(d, n, 0), "%s %v, %v", op, d, n)
}

// by is op with a number of a register as the second factor.
func (k *kernel) by(op string, d, n vec, m lane) {
	code := find(byLane, op) | fields(d, n, m.vec) | uint32(m.at&1)<<21 | uint32(m.at>>1)<<11
	k.word(code, "%s %v, %v, %v", op, d, n, m)
}

// shiftLeft moves the bits of four integers.
func (k *kernel) shiftLeft(d, n vec, bits int) {
	k.word(0x4f005400|uint32(32+bits)<<16|fields(d, n, 0), "shl %v, %v, #%d", d, n, bits)
}

// widen makes two float64 of the first or the last two float32.
func (k *kernel) widen(d, n vec, half int) {
	from := [2]string{"fcvtl v%d.2d, v%d.2s", "fcvtl2 v%d.2d, v%d.4s"}[half]
	k.word(0x0e617800|uint32(half)<<30|fields(d, n, 0), from, int(d), int(n))
}

// total64 adds two float64, total the four float32 of v, each into the first lane.
func (k *kernel) total64(v vec) {
	k.word(0x7e70d800|fields(v, v, 0), "faddp d%d, v%d.2d", int(v), int(v))
}

func (k *kernel) total(v vec) {
	k.op("faddp", v, v, v)
	k.op("faddp", v, v, v)
}

// largestOf sets the first lane of d to the maximum of n, which is NaN if one lane is;
// largestBits does so with unsigned integers.
func (k *kernel) largestOf(d, n vec) {
	k.word(0x6e30f800|fields(d, n, 0), "fmaxv s%d, %v", int(d), n)
}

func (k *kernel) largestBits(d, n vec) {
	k.word(0x6eb0a800|fields(d, n, 0), "umaxv s%d, %v", int(d), n)
}

// totalBits sets the first lane of d to the sum of the integers of n.
func (k *kernel) totalBits(d, n vec) {
	k.word(0x4eb1b800|fields(d, n, 0), "addv s%d, %v", int(d), n)
}

// toReg copies the bits of a number to a general register.
func (k *kernel) toReg(d reg, n lane) {
	k.word(0x0e003c00|laneField(n.at)|uint32(n.vec)<<5|uint32(d), "mov w%d, %v", int(d), n)
}

func (k *kernel) clear(d vec) { k.word(0x4f000400|uint32(d), "movi %v, #0x0", d) }

// laneField is a number's place, for instructions that copy it.
func laneField(at int) uint32 { return uint32(at<<3|4) << 16 }

// dup copies a number into all lanes, first into the first, with 0 in the others.
func (k *kernel) dup(d vec, n lane) {
	k.word(0x4e000400|laneField(n.at)|fields(d, n.vec, 0), "dup %v, %v", d, n)
}

func (k *kernel) first(d vec, n lane) {
	k.word(0x5e000400|laneField(n.at)|fields(d, n.vec, 0), "mov s%d, %v", int(d), n)
}

// first64 copies the first float64, with 0 in the other.
func (k *kernel) first64(d, n vec) {
	k.word(0x5e080400|fields(d, n, 0), "mov d%d, v%d.d[0]", int(d), int(n))
}

// spread takes a register and copies a number into all its lanes.
func (k *kernel) spread(n lane) vec {
	v := k.vec()
	k.dup(v, n)
	return v
}

// address writes an address with a distance in bytes.
func address(base reg, at int) string {
	if at == 0 {
		return fmt.Sprintf("[x%d]", int(base))
	}
	return fmt.Sprintf("[x%d, #%d]", int(base), at)
}

// access is a load or store of size bytes.
func (k *kernel) access(code uint32, op, size string, bytes int, v vec, base reg, at int) {
	if at < 0 || at%bytes != 0 || at/bytes > 4095 {
		panic("a distance that has no encoding")
	}
	k.word(code|uint32(at/bytes)<<10|uint32(base)<<5|uint32(v), "%s %s%d, %s", op, size, int(v), address(base, at))
}

// load and store move a vector, load2 and store2 two numbers, load1 and store1 one; what
// is not loaded becomes 0.
func (k *kernel) load(v vec, base reg, at int)   { k.access(0x3dc00000, "ldr", "q", 16, v, base, at) }
func (k *kernel) store(v vec, base reg, at int)  { k.access(0x3d800000, "str", "q", 16, v, base, at) }
func (k *kernel) load2(v vec, base reg, at int)  { k.access(0xfd400000, "ldr", "d", 8, v, base, at) }
func (k *kernel) load1(v vec, base reg, at int)  { k.access(0xbd400000, "ldr", "s", 4, v, base, at) }
func (k *kernel) store1(v vec, base reg, at int) { k.access(0xbd000000, "str", "s", 4, v, base, at) }

// pairs of vectors beside each other.
func (k *kernel) loadPair(a, b vec, base reg, at int)  { k.pair(0xad400000, "ldp", a, b, base, at) }
func (k *kernel) storePair(a, b vec, base reg, at int) { k.pair(0xad000000, "stp", a, b, base, at) }

func (k *kernel) pair(code uint32, op string, a, b vec, base reg, at int) {
	if at%16 != 0 || at < -1024 || at > 1008 {
		panic("a distance that has no encoding")
	}
	k.word(code|uint32(at/16)&0x7f<<15|uint32(b)<<10|uint32(base)<<5|uint32(a), "%s q%d, q%d, %s", op, int(a), int(b), address(base, at))
}

// loadAll and storeAll move vectors that lie beside each other.
func (k *kernel) loadAll(v []vec, base reg, at int) {
	for ; len(v) > 1; v, at = v[2:], at+32 {
		k.loadPair(v[0], v[1], base, at)
	}
	if len(v) > 0 {
		k.load(v[0], base, at)
	}
}

func (k *kernel) storeAll(v []vec, base reg, at int) {
	for ; len(v) > 1; v, at = v[2:], at+32 {
		k.storePair(v[0], v[1], base, at)
	}
	if len(v) > 0 {
		k.store(v[0], base, at)
	}
}

// loadFrom and storeTo add a distance in bytes from a register, load1From one in numbers.
func (k *kernel) loadFrom(v vec, base, at reg)  { k.indexed(0x3ce06800, "ldr q", "", v, base, at) }
func (k *kernel) storeTo(v vec, base, at reg)   { k.indexed(0x3ca06800, "str q", "", v, base, at) }
func (k *kernel) load1From(v vec, base, at reg) { k.indexed(0xbc606800, "ldr s", "", v, base, at) }

func (k *kernel) indexed(code uint32, op, shift string, v vec, base, at reg) {
	k.word(code|uint32(at)<<16|uint32(base)<<5|uint32(v), "%s%d, [x%d, x%d%s]", op, int(v), int(base), int(at), shift)
}

// loadLane sets one lane, loadEach all of them to the same number.
func (k *kernel) loadLane(v lane, base reg) {
	code := uint32(0x0d408000) | uint32(v.at>>1)<<30 | uint32(v.at&1)<<12
	k.word(code|uint32(base)<<5|uint32(v.vec), "ld1 {v%d.s}[%d], [x%d]", int(v.vec), v.at, int(base))
}

func (k *kernel) loadEach(v vec, base reg) {
	k.word(0x4d40c800|uint32(base)<<5|uint32(v), "ld1r {%v}, [x%d]", v, int(base))
}
