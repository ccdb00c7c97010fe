package pixels

import "golang.org/x/sys/cpu"

//go:generate go run kernelgen.go -out kernels_amd64.s -stubs kernels_stubs_amd64.go -pkg pixels

// leastColumns is how many bytes vectorColumns needs.
const leastColumns = 32

// vectorized says whether the functions below may be called.
func vectorized() bool { return cpu.X86.HasAVX2 }

// vectorRows makes the first n pixels of rows y..y+3 of dst. It needs that none of
// them depends on the last pixel of a row of src, and that n is less than the
// width of dst.
func vectorRows(dst, src *RGB, y int, t taps, n int) {
	rowsAVX2(&dst.Pix[y*dst.Stride], dst.Stride, &src.Pix[y*src.Stride], src.Stride, n, &t.first[0], &t.count[0], &t.weights[0], t.width)
}

// vectorColumns makes a row of at least leastColumns bytes of the bytes that lie
// at each of offsets, weighted.
func vectorColumns(dst, src []uint8, offsets []int, weights []int32) {
	columnsAVX2(&dst[0], &src[0], &offsets[0], &weights[0], len(offsets), len(dst))
}
