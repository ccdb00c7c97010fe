package cpu

import "math"

// The points of F(4x4, 3x3) are 0, +-inner, +-outer and infinity. With inner
// times outer 1 and both irrational the transforms are shorter and their
// rounding smaller than with the usual 1 and 2.
const (
	inner = math.Sqrt2 / 2
	outer = math.Sqrt2
)

// fromMap transforms squares of a map: for each, and each of lanes channels,
// the rows, and then the columns of the result. dst has result (row i, column j)
// at (6j+i)*stride.
func fromMap(lanes, size int, f func(y, x *[6]float32)) transformFunc {
	return func(dst []float32, stride, dstNext int, src []float32, pitch, srcNext, count int, tmp []float32) {
		var x, y [6]float32
		for n := range count {
			for l := range lanes {
				at := n*srcNext + l
				for r := range size {
					for c := range size {
						x[c] = src[at+r*pitch+c*lanes]
					}
					f(&y, &x)
					for i, v := range y {
						tmp[i*size+r] = v
					}
				}
				for i := range 6 {
					copy(x[:], tmp[i*size:(i+1)*size])
					f(&y, &x)
					for j, v := range y {
						dst[n*dstNext+(6*i+j)*stride+l] = v
					}
				}
			}
		}
	}
}

// toMap is the way back.
func toMap(lanes, size int, f func(y, x *[6]float32)) transformFunc {
	return func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp []float32) {
		var x, y [6]float32
		for n := range count {
			for l := range lanes {
				for i := range 6 {
					for j := range x {
						x[j] = src[n*srcNext+(6*i+j)*stride+l]
					}
					f(&y, &x)
					for r := range size {
						tmp[r*6+i] = y[r]
					}
				}
				for r := range size {
					copy(x[:], tmp[r*6:(r+1)*6])
					f(&y, &x)
					for c := range size {
						dst[n*dstNext+r*pitch+c*lanes+l] = y[c]
					}
				}
			}
		}
	}
}

// tilesOut is toMap for tiles.
func tilesOut(lanes int) func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp, ends []float32) {
	plain := toMap(lanes, 4, tileOut)
	return func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp, ends []float32) {
		plain(dst, pitch, dstNext, src, stride, srcNext, count, tmp)
		if ends == nil {
			return
		}
		for n := range count {
			for r := range 4 {
				for i := range 4 * lanes {
					v, l := &dst[n*dstNext+r*pitch+i], i%lanes
					if *v = *v*ends[l] + ends[lanes+l]; *v < ends[2*lanes+l] {
						*v = ends[2*lanes+l]
					}
				}
			}
		}
	}
}

// tileIn is B^T x.
func tileIn(y, x *[6]float32) {
	u, v := x[4]-2*x[2], inner*(x[3]-2*x[1])
	p, q := x[4]-0.5*x[2], outer*(x[3]-0.5*x[1])
	*y = [6]float32{x[0] + x[4] - 2.5*x[2], u + v, u - v, p + q, p - q, x[1] + x[5] - 2.5*x[3]}
}

// tileOut is A^T x.
func tileOut(y, x *[6]float32) {
	u, v, p, q := x[1]+x[2], x[1]-x[2], x[3]+x[4], x[3]-x[4]
	*y = [6]float32{x[0] + u + p, inner*v + outer*q, 0.5*u + 2*p, x[5] + inner/2*v + 2*outer*q}
}

// filterIn is G x.
func filterIn(y, x *[6]float32) {
	u, v := x[0]+0.5*x[2], inner*x[1]
	p, q := x[0]+2*x[2], outer*x[1]
	*y = [6]float32{x[0], -2. / 3 * (u + v), -2. / 3 * (u - v), 1. / 6 * (p + q), 1. / 6 * (p - q), x[2]}
}

// gradientIn is A x.
func gradientIn(y, x *[6]float32) {
	u, v := x[0]+0.5*x[2], inner*(x[1]+0.5*x[3])
	p, q := x[0]+2*x[2], outer*(x[1]+2*x[3])
	*y = [6]float32{x[0], u + v, u - v, p + q, p - q, x[3]}
}

// filterOut is G^T x.
func filterOut(y, x *[6]float32) {
	u, v, p, q := x[1]+x[2], x[1]-x[2], x[3]+x[4], x[3]-x[4]
	*y = [6]float32{x[0] - 2./3*u + 1./6*p, outer/6*q - 2./3*inner*v, x[5] + 1./3*(p-u)}
}

// rowsTiles has one tile of 4 columns.
func portableRowsTiles() [][]rowsTileFunc {
	tiles := make([]rowsTileFunc, 5)
	for r := 1; r <= 4; r++ {
		tiles[r] = func(c []float32, ldc int, a []float32, next int, b []float32, blocks int) {
			for i := range r {
				var s [4]float32
				for n := range blocks {
					for t, x := range a[n*next+4*i:][:4] {
						for j, y := range b[(4*n+t)*4:][:4] {
							s[j] += x * y
						}
					}
				}
				copy(c[i*ldc:], s[:])
			}
		}
	}
	return [][]rowsTileFunc{tiles}
}
