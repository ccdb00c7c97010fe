//go:build ignore

// Kernelgen writes the vector kernels of resizing:
//
//	go run kernelgen.go -out kernels_amd64.s -stubs kernels_stubs_amd64.go -pkg pixels
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// weightBits is that of resize.go.
const weightBits = 22

func main() {
	columns()
	rows()
	Generate()
}

// half is 1<<(weightBits-1) in every lane of a new register.
func half() reg.VecVirtual {
	x, y := XMM(), YMM()
	r := GP32()
	MOVL(U32(1<<(weightBits-1)), r)
	VMOVD(r, x)
	VPBROADCASTD(x, y)
	return y
}

// columns sums 32 bytes of one output row at a time, over the taps.
func columns() {
	TEXT("columnsAVX2", NOSPLIT, "func(dst, src *byte, offsets *int, weights *int32, taps, n int)")
	Doc("columnsAVX2 writes n bytes, n >= 32: the sums over taps of weight times the byte at src[offset+i].")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	offsets := Load(Param("offsets"), GP64())
	weights := Load(Param("weights"), GP64())
	taps := Load(Param("taps"), GP64())
	n := Load(Param("n"), GP64())
	rounding := half()
	order := YMM()
	VMOVDQU(dwordOrder(), order)
	at, last := GP64(), GP64()
	XORQ(at, at)
	MOVQ(n, last)
	SUBQ(Imm(32), last)

	Label("block")
	var acc [4]reg.VecVirtual
	for i := range acc {
		acc[i] = YMM()
		VMOVDQA(rounding, acc[i])
	}
	k, p := GP64(), GP64()
	XORQ(k, k)
	Label("tap")
	MOVQ(Mem{Base: offsets, Index: k, Scale: 8}, p)
	ADDQ(src, p)
	w, v := YMM(), YMM()
	VPBROADCASTD(Mem{Base: weights, Index: k, Scale: 4}, w)
	for i := range acc {
		VPMOVZXBD(Mem{Base: p, Index: at, Scale: 1, Disp: 8 * i}, v)
		VPMULLD(w, v, v)
		VPADDD(v, acc[i], acc[i])
	}
	INCQ(k)
	CMPQ(k, taps)
	JL(LabelRef("tap"))
	for i := range acc {
		VPSRAD(Imm(weightBits), acc[i], acc[i])
	}
	VPACKSSDW(acc[1], acc[0], acc[0])
	VPACKSSDW(acc[3], acc[2], acc[2])
	VPACKUSWB(acc[2], acc[0], acc[0])
	VPERMD(acc[0], order, acc[0])
	VMOVDQU(acc[0], Mem{Base: dst, Index: at, Scale: 1})
	CMPQ(at, last)
	JE(LabelRef("done"))
	ADDQ(Imm(32), at)
	CMPQ(at, last)
	CMOVQGT(last, at) // the last block overlaps the one before
	JMP(LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

// dwordOrder undoes the interleaving of the 128-bit halves by packing.
func dwordOrder() Mem {
	order := GLOBL("dwordOrder", RODATA|NOPTR)
	for i, v := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		DATA(4*i, U32(v))
	}
	return order
}

// rows makes one output pixel of four rows at a time.
func rows() {
	TEXT("rowsAVX2", NOSPLIT, "func(dst *byte, dstStride int, src *byte, srcStride, n int, first, count *int, weights *int32, width int)")
	Doc("rowsAVX2 writes n pixels of four rows. It reads and writes a byte more than every pixel has.")
	dst := Load(Param("dst"), GP64())
	dstStride := Load(Param("dstStride"), GP64())
	src := Load(Param("src"), GP64())
	srcStride := Load(Param("srcStride"), GP64())
	n := Load(Param("n"), GP64())
	first := Load(Param("first"), GP64())
	count := Load(Param("count"), GP64())
	weights := Load(Param("weights"), GP64())
	width := Load(Param("width"), GP64())
	SHLQ(Imm(2), width)
	rounding := half()

	Label("pixel")
	p, q := GP64(), GP64()
	MOVQ(Mem{Base: first}, p)
	LEAQ(Mem{Base: p, Index: p, Scale: 2}, p)
	ADDQ(src, p)
	LEAQ(Mem{Base: p, Index: srcStride, Scale: 2}, q)
	a, b := YMM(), YMM()
	VMOVDQA(rounding, a)
	VMOVDQA(rounding, b)
	k, taps := GP64(), GP64()
	XORQ(k, k)
	MOVQ(Mem{Base: count}, taps)
	Label("weigh")
	w, x, y := YMM(), XMM(), XMM()
	vx, vy := YMM(), YMM()
	VPBROADCASTD(Mem{Base: weights, Index: k, Scale: 4}, w)
	VMOVD(Mem{Base: p}, x)
	VPINSRD(Imm(1), Mem{Base: p, Index: srcStride, Scale: 1}, x, x)
	VMOVD(Mem{Base: q}, y)
	VPINSRD(Imm(1), Mem{Base: q, Index: srcStride, Scale: 1}, y, y)
	VPMOVZXBD(x, vx)
	VPMOVZXBD(y, vy)
	VPMULLD(w, vx, vx)
	VPMULLD(w, vy, vy)
	VPADDD(vx, a, a)
	VPADDD(vy, b, b)
	ADDQ(Imm(3), p)
	ADDQ(Imm(3), q)
	INCQ(k)
	CMPQ(k, taps)
	JL(LabelRef("weigh"))
	VPSRAD(Imm(weightBits), a, a)
	VPSRAD(Imm(weightBits), b, b)
	VPACKSSDW(b, a, a) // rows 0 and 2 in the lower half, 1 and 3 in the upper
	VPACKUSWB(a, a, a)
	out := GP64()
	LEAQ(Mem{Base: dst, Index: dstStride, Scale: 2}, out)
	VMOVD(a.AsX(), Mem{Base: dst})
	VPEXTRD(Imm(1), a.AsX(), Mem{Base: out})
	upper := XMM()
	VEXTRACTI128(Imm(1), a, upper)
	VMOVD(upper, Mem{Base: dst, Index: dstStride, Scale: 1})
	VPEXTRD(Imm(1), upper, Mem{Base: out, Index: dstStride, Scale: 1})
	ADDQ(Imm(3), dst)
	ADDQ(Imm(8), first)
	ADDQ(Imm(8), count)
	ADDQ(width, weights)
	DECQ(n)
	JNZ(LabelRef("pixel"))
	VZEROUPPER()
	RET()
}
