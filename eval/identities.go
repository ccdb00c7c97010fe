package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// SplitIdentities divides rows by identity, so that no identity is on both
// sides: a share of the distinct identities, drawn at random, for calibration
// and the others for testing. Rows keep their order. Both sides get two
// identities at least, without which there is no pair of different ones.
func SplitIdentities(identity []string, share float64, seed uint64) (calibration, test []int, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("eval: share %v of the identities, want one between 0 and 1", share)
	}
	distinct := slices.Clone(identity)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	if len(distinct) < 4 {
		return nil, nil, fmt.Errorf("eval: %d identities cannot be divided: calibration and test need two each", len(distinct))
	}
	rng := rand.New(rand.NewPCG(seed, 5))
	rng.Shuffle(len(distinct), func(i, j int) { distinct[i], distinct[j] = distinct[j], distinct[i] })
	n := min(max(int(math.Round(share*float64(len(distinct)))), 2), len(distinct)-2)
	first := make(map[string]bool, n)
	for _, id := range distinct[:n] {
		first[id] = true
	}
	for i, id := range identity {
		if first[id] {
			calibration = append(calibration, i)
		} else {
			test = append(test, i)
		}
	}
	return calibration, test, nil
}

// namedIdentities is how many of them an error lists.
const namedIdentities = 10

// DisjointIdentities checks that a threshold is tested on other identities than
// those it was calibrated on; else the rates are too good. The error names
// those in both.
func DisjointIdentities(calibration, test []string) error {
	in := make(map[string]bool, len(calibration))
	for _, id := range calibration {
		in[id] = true
	}
	var both []string
	for _, id := range test {
		if in[id] {
			both = append(both, id)
			delete(in, id)
		}
	}
	if len(both) == 0 {
		return nil
	}
	slices.Sort(both)
	more := ""
	if n := len(both) - namedIdentities; n > 0 {
		both, more = both[:namedIdentities], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("identities both in calibration and in test: %s%s", strings.Join(both, ", "), more)
}
