package comm

import "fmt"

// Tree adds parts of one length into parts[0]; the others end with sums of some. It adds
// neighbors, then neighbors of these sums, and so on: ((0+1)+(2+3))+(4+5) for six. The
// order depends on the number of parts alone.
func Tree(parts [][]float32) {
	for step := 1; step < len(parts); step *= 2 {
		for i := 0; i+step < len(parts); i += 2 * step {
			add(parts[i], parts[i+step])
		}
	}
}

// add adds b to a.
func add(a, b []float32) {
	b = b[:len(a)]
	for i := range a {
		a[i] += b[i]
	}
}

// Merges returns how often a stack of partial sums is to be merged when part number k,
// from 0, of count parts has been put onto it, so that one sum in the order of Tree is
// left after the last. A merge adds the top to what is below it. The stack never holds
// more than Depth(count) sums.
func Merges(k, count int) int {
	if k == count-1 {
		return pieces(k) // all that is below the last part
	}
	n := 0
	for ; k&1 == 1; k >>= 1 {
		n++
	}
	return n
}

// Depth is the size of the stack that Merges needs.
func Depth(count int) int {
	depth := 0
	for k := range count {
		depth = max(depth, pieces(k)+1)
	}
	return depth
}

// pieces is the number of sums on the stack after k parts: of as many parts as the bits
// of k say.
func pieces(k int) (n int) {
	for ; k > 0; k &= k - 1 {
		n++
	}
	return n
}

// Share returns which of n things, such as the parts of a batch or the rows of a set, a
// rank takes: those from first to end, less one. Shares differ by one at the most and
// follow each other in the order of ranks.
func Share(n, rank, size int) (first, end int) { return n * rank / size, n * (rank + 1) / size }

// CheckParts says whether sums over parts are the same bits for size ranks as for one:
// each rank must hold the same number of parts, a power of two.
func CheckParts(parts, size int) error {
	each := parts / size
	switch {
	case size == 1 && parts > 0:
		return nil
	case each == 0 || parts%size != 0:
		return fmt.Errorf("%d parts cannot be divided evenly among %d ranks", parts, size)
	case each&(each-1) != 0:
		return fmt.Errorf("each of %d ranks would hold %d of %d parts, which is not a power of two: sums would depend on the number of ranks", size, each, parts)
	}
	return nil
}
