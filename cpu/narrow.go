package cpu

import (
	"fmt"
	"math"
)

// Products of bfloat16 numbers: the operands are rounded to it as they are packed, two
// terms to a word of 32 bits, and the sums are float32. Panels have the layout of those
// of float32 with half the terms, and the tiles the same signature, in which slices
// of operands hold words and k counts them.

// narrowKernels are the kernels of products in bfloat16.
type narrowKernels struct {
	tiles [][]tileFunc // as kernels.tiles
	// pairs sets dst[p*width+i] to the word of src[2*p*width+i] (its lower half) and
	// src[(2*p+1)*width+i], rounded to the nearest, for p < pairs and i < width, one or
	// two vectors or fewer. Numbers that are no normal ones of bfloat16 may become 0.
	pairs func(dst, src []float32, width, pairs int)
}

// narrows reports whether a precision is that of bfloat16.
func (k *kernels) narrows(precision string) (bool, error) {
	switch precision {
	case "", FP32:
		return false, nil
	case BF16:
		if k.narrow == nil {
			return false, fmt.Errorf("products in bf16 need a processor with AVX-512 BF16; the kernels %s of this one compute in fp32", k.name)
		}
		return true, nil
	}
	return false, fmt.Errorf("%q is not known, want %s or %s", precision, FP32, BF16)
}

// packPanels is pack, and if narrow is set then to words: panels of size lines by
// depth/2 words, two terms to each.
func (m matrix) packPanels(kr *kernels, w *workerScratch, dst []float32, size, fill int, along bool, line, lines, p, depth int, narrow bool) {
	if !narrow {
		m.pack(kr, dst, size, fill, along, line, lines, p, depth)
		return
	}
	wide, words := grow(&w.wide, size*depth), ceilDiv(depth, 2)
	for ; lines > 0; line, lines = line+size, lines-size {
		m.pack(kr, wide, size, fill, along, line, min(size, lines), p, depth)
		kr.narrow.panel(dst, wide, size, depth)
		dst = dst[min(size*words, len(dst)):]
	}
}

// panel rounds a panel of size lines and depth terms, with 0 for a missing last term.
func (n *narrowKernels) panel(dst, src []float32, size, depth int) {
	pairs := depth / 2
	if pairs > 0 {
		n.pairs(dst, src, size, pairs)
	}
	if depth%2 == 1 {
		var last [2 * maxLines]float32
		copy(last[:size], src[(depth-1)*size:])
		n.pairs(dst[pairs*size:], last[:], size, 1)
	}
}

// maxLines is how many lines a panel has at most.
const maxLines = 32

// narrowBits rounds to bfloat16, to even where two are as near. NaN stays NaN.
func narrowBits(x float32) uint32 {
	b := math.Float32bits(x)
	if x != x {
		return b>>16 | 0x40
	}
	return (b + 0x7fff + b>>16&1) >> 16
}

func narrowPairs(dst, src []float32, width, pairs int) {
	for p := range pairs {
		for i := range width {
			low, high := narrowBits(src[2*p*width+i]), narrowBits(src[(2*p+1)*width+i])
			dst[p*width+i] = math.Float32frombits(low | high<<16)
		}
	}
}

// widened undoes narrowPairs for k rows of width words, stride apart.
func widened(src []float32, stride, width, k int) []float32 {
	dst := make([]float32, 2*k*width)
	for p := range k {
		for i := range width {
			b := math.Float32bits(src[p*stride+i])
			dst[2*p*width+i], dst[(2*p+1)*width+i] = math.Float32frombits(b<<16), math.Float32frombits(b&^0xffff)
		}
	}
	return dst
}

// narrowTiles are tiles of words, out of tiles of float32: the oracle of the kernels.
func narrowTiles(vec int, tiles [][]tileFunc) [][]tileFunc {
	all := make([][]tileFunc, len(tiles))
	for v := range tiles {
		all[v] = make([]tileFunc, len(tiles[v]))
		for rows, tile := range tiles[v] {
			if tile == nil {
				continue
			}
			n := (v + 1) * vec
			all[v][rows] = func(dst []float32, ldd int, c []float32, ldc int, a []float32, lda int, b []float32, ldb, k int, scale, shift, residual []float32, ldr int, ceiling float32) {
				tile(dst, ldd, c, ldc, widened(a, lda, rows, k), rows, widened(b, ldb, n, k), n, 2*k, scale, shift, residual, ldr, ceiling)
			}
		}
	}
	return all
}
