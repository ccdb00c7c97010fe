//go:build !amd64

package pixels

// leastColumns is how many bytes vectorColumns needs.
const leastColumns = 32

func vectorized() bool { return false }

func vectorRows(dst, src *RGB, y int, t taps, n int) {
	horizontalRows(dst, src, y, y+4, t, 0, n)
}

func vectorColumns(dst, src []uint8, offsets []int, weights []int32) {
	columnsOf(dst, src, offsets, weights)
}
