package probe

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Divide draws a share of the rows of every class for the bank, which neighbors are looked
// up in and a classifier is fitted to; the others are the queries. A class of two rows or
// more has one on each side at least. A class of one row is in neither: nothing could be
// right about it. Both lists ascend.
func Divide(labels []int, share float64, seed uint64) (bank, queries []int, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("probe: a share of %v of the rows for the bank, want one between 0 and 1", share)
	}
	class, distinct := eval.Compact(labels)
	rows := make([][]int, len(distinct))
	for i, c := range class {
		rows[c] = append(rows[c], i)
	}
	in := make([]bool, len(labels))
	rng := rand.New(rand.NewPCG(seed, 7))
	classes, left := 0, make([]bool, len(labels))
	for _, own := range rows {
		if len(own) < 2 {
			left[own[0]] = true
			continue
		}
		classes++
		n := min(max(int(math.Round(share*float64(len(own)))), 1), len(own)-1)
		for _, k := range rng.Perm(len(own))[:n] {
			in[own[k]] = true
		}
	}
	if classes < 2 {
		return nil, nil, fmt.Errorf("probe: %s of two rows or more: there must be two, one row of each for the bank and one to ask about", plural.Of(classes, "class"))
	}
	for i := range labels {
		switch {
		case left[i]:
		case in[i]:
			bank = append(bank, i)
		default:
			queries = append(queries, i)
		}
	}
	return bank, queries, nil
}
