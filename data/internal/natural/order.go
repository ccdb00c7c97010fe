package natural

import (
	"slices"
	"strings"
)

// Compare orders names as people do: runs of digits by value, the rest
// by bytes, so "img2" comes before "img10". Names that differ only in leading
// zeros are ordered by bytes, so the order is total.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			m, n := digits(x), digits(y)
			u, v := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if len(u) != len(v) {
				return len(u) - len(v)
			}
			if c := strings.Compare(u, v); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

// Sorted returns a copy of names in natural order.
func Sorted(names []string) []string {
	names = slices.Clone(names)
	slices.SortFunc(names, Compare)
	return names
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits is the length of the run of digits that s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
