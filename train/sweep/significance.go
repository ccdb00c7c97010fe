package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/nearest"
)

// test compares every group with its baseline.
func (t *Table) test(o Options) error {
	if o.Baseline != nil && len(o.Baseline) == 0 {
		return nil
	}
	found := false
	for _, g := range t.Groups {
		base := t.Groups[0]
		if o.Baseline != nil {
			if base = t.baseline(g, o.Baseline); base == nil {
				continue
			}
		}
		found = true
		if base == g {
			continue
		}
		for _, f := range t.Figures {
			s, ok := g.Figures[f]
			if !ok {
				continue
			}
			if s.Test = pairedTest(g, base, f, o.Level); s.Test != nil {
				s.Test.Baseline = t.name(base)
				g.Figures[f] = s
			}
		}
	}
	if !found {
		return &OptionError{"baseline", t.noBaseline(o.Baseline)}
	}
	return nil
}

// noBaseline says why no group has a baseline's settings.
func (t *Table) noBaseline(settings map[string]string) error {
	all := t.Columns
	for _, f := range t.Following {
		all = append(all[:len(all):len(all)], f.Place)
	}
	hint := ""
	for _, place := range slices.Sorted(maps.Keys(settings)) {
		if !slices.Contains(all, place) {
			hint = nearest.Hint(place, all)
			break
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no group has the baseline's settings %v: there is one group only, whose runs differ in seed and fold alone", text(settings))
	}
	return fmt.Errorf("no group has the baseline's settings %v%s (the groups differ in %s)", text(settings), hint, strings.Join(all, ", "))
}

// OptionError says that an option of a comparison names what is not there.
type OptionError struct {
	Option string // "baseline" or "figure"
	Err    error
}

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// baseline finds the group that has the baseline's settings and else those of g.
// What follows from the table's columns need not be equal.
func (t *Table) baseline(g *Group, settings map[string]string) *Group {
	for _, b := range t.Groups {
		fits := true
		for place, value := range settings {
			fits = fits && b.has(place, value)
		}
		for c, place := range t.Columns {
			if _, named := settings[place]; !named {
				fits = fits && b.Labels[c] == g.Labels[c]
			}
		}
		if fits {
			return b
		}
	}
	return nil
}

// has reports whether a setting has a value in the runs of a group. A stored configuration
// leaves out what is switched off, as momentum_encoder at 0.
func (g *Group) has(place, value string) bool {
	have, stored := g.values[place]
	if !stored {
		return slices.Contains([]string{"", "0", "false"}, value)
	}
	return have == value
}

// leastPairs are needed for a test: two differences that happen to be equal, as those
// of coarse figures are, would pass for certainty.
const leastPairs = 3

// pairedTest compares the runs of the same seed and fold that were measured on the
// same test images.
func pairedTest(g, base *Group, figure string, level float64) *Test {
	var a, b []float64
	for _, r := range g.Runs {
		for _, s := range base.Runs {
			x, ok := r.Figures[figure]
			y, both := s.Figures[figure]
			if r.Seed == s.Seed && r.Fold == s.Fold && r.Test == s.Test && ok && both {
				a, b = append(a, x), append(b, y)
			}
		}
	}
	if len(a) < leastPairs {
		return nil
	}
	tt, p, err := eval.PairedT(a, b)
	if err != nil {
		return nil
	}
	test := &Test{Difference: stat.Mean(a, nil) - stat.Mean(b, nil), P: p, Pairs: len(a), Verdict: "same"}
	if p < level {
		test.Verdict = "worse"
		if tt > 0 {
			test.Verdict = "better"
		}
	}
	return test
}

// name says which group is meant.
func (t *Table) name(g *Group) string {
	var parts []string
	for c, place := range t.Columns {
		parts = append(parts, short(place)+"="+g.Labels[c])
	}
	return strings.Join(parts, " ")
}

// short is a place without what goes without saying: "loss" of "loss.name".
func short(place string) string {
	if part, ok := strings.CutPrefix(place, "data.corrupt."); ok {
		return "corrupt " + part
	}
	place = strings.TrimSuffix(place, ".name")
	if i := strings.LastIndex(place, "."); i >= 0 {
		return place[i+1:]
	}
	return place
}

// text lists settings as KEY=VALUE.
func text(settings map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		parts = append(parts, k+"="+settings[k])
	}
	return strings.Join(parts, " ")
}
