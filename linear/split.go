package linear

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Split divides the rows of known label at random: the share of rows that
// train, rounded down, and the rest. Both lists are ascending.
func Split(labels []int, share float64, seed uint64) (train, test []int, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("a training share of %v, want a number between 0 and 1", share)
	}
	var rows []int
	for i, y := range labels {
		if y != Unknown {
			rows = append(rows, i)
		}
	}
	n := int(share * float64(len(rows)))
	if n < 1 || n == len(rows) {
		return nil, nil, fmt.Errorf("%d rows of known label are too few to split at %v", len(rows), share)
	}
	rng := newRand(seed, 7)
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	train, test = rows[:n], rows[n:]
	slices.Sort(train)
	slices.Sort(test)
	return train, test, nil
}

// Duplicates counts the test rows whose features all equal those of a training
// row, and how many of these disagree with it in the label.
func Duplicates(t *Table, train, test []int) (equal, conflicting int) {
	seen := map[string]map[int]bool{}
	for _, i := range train {
		k := t.key(i)
		if seen[k] == nil {
			seen[k] = map[int]bool{}
		}
		seen[k][t.label(i)] = true
	}
	for _, i := range test {
		labels := seen[t.key(i)]
		if labels == nil {
			continue
		}
		equal++
		if !labels[t.label(i)] {
			conflicting++
		}
	}
	return equal, conflicting
}

func (t *Table) label(i int) int {
	if t.Labels == nil {
		return Unknown
	}
	return t.Labels[i]
}

// key is a row's features as a string.
func (t *Table) key(i int) string {
	var b strings.Builder
	for _, c := range t.Columns {
		if c.Words != nil {
			b.WriteString(strconv.Quote(c.Words[i]))
		} else {
			b.WriteString(strconv.FormatUint(math.Float64bits(c.Numbers[i]), 36))
		}
		b.WriteByte('|')
	}
	return b.String()
}
