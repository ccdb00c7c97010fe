package linear

import (
	"fmt"
	"math"
	"strconv"
)

// newColumn is of numbers if every cell is one, of categories if none is or it
// was asked for. A mixture is an error that names the odd cell.
func newColumn(name string, cells []string, lines []int, categorical bool) (Column, error) {
	numbers, words := 0, 0
	oddWord := 0
	for i, s := range cells {
		switch {
		case s == "":
		case isNumber(s):
			numbers++
		default:
			if words == 0 {
				oddWord = i
			}
			words++
		}
	}
	if categorical || numbers == 0 && words > 0 {
		return Column{Name: name, Words: cells}, nil
	}
	if words > 0 {
		return Column{}, fmt.Errorf("line %d, column %q: %q is no number, as %d other cells of the column are; name the column categorical if its numbers are codes", lines[oddWord], name, cells[oddWord], numbers)
	}
	c := Column{Name: name, Numbers: make([]float64, len(cells))}
	for i, s := range cells {
		if s == "" {
			c.Numbers[i] = math.NaN()
			continue
		}
		v, _ := strconv.ParseFloat(s, 64)
		if math.IsInf(v, 0) {
			return Column{}, fmt.Errorf("line %d, column %q: %q is not finite", lines[i], name, s)
		}
		c.Numbers[i] = v
	}
	return c, nil
}
