package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Group is the runs of one configuration; they differ in seed and fold alone.
type Group struct {
	Labels []string // the values of a Table's Columns
	Runs   []Run
	// Figures by name.
	Figures map[string]Summary

	values map[string]string
}

// Summary is a figure over the runs of a group.
type Summary struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"` // of a sample, 0 for a single run
	Runs int     `json:"runs"`
	// Test compares with the baseline's runs of the same seeds and folds; nil for
	// the baseline itself, and where fewer than three match.
	Test *Test `json:"test,omitempty"`
}

// Test is a paired t-test of a group against its baseline.
type Test struct {
	Baseline   string  `json:"baseline"`
	Difference float64 `json:"difference"` // mean, of the group less the baseline
	P          float64 `json:"p"`          // two-sided
	Pairs      int     `json:"pairs"`
	// Verdict is "better", "worse" or "same" at the table's level.
	Verdict string `json:"verdict"`
}

// Table compares groups of runs.
type Table struct {
	Columns []string // places of the settings in which the groups differ
	// Following are further places in which they differ, whose values follow from
	// those of columns for a reason, not just in the runs at hand.
	Following []Following
	Figures   []string
	Groups    []*Group
	Level     float64 // of significance
	// Missing are runs that are not finished, and so in no group.
	Missing []Missing
	// Shared lists what all groups have in common: seeds and data.
	Data string
}

// Options say what Compare compares with.
type Options struct {
	// Baseline names settings, by place, that make a group's baseline of it: the
	// group that is otherwise the same. A nil map takes the first group for all; an empty
	// one does no tests.
	Baseline map[string]string
	Level    float64 // of significance, 0 for 0.05
	// Order lists the places of settings that were varied, by which columns and rows are
	// ordered before others. They have a column though the groups at hand be equal there.
	Order []string
	// With says of places in Order that something else sets them in one go with
	// others (File.With): their values follow from those, and need no column.
	With map[string][]string
	// By is a figure by which groups are ordered, the largest first; empty for the order
	// of their settings.
	By string
}

// usual are the settings that a table shows first.
var usual = []string{"preset", "data.spec", "model.backbone", "loss.name", "model.metric", "model.normalization"}

// Compare groups runs by configuration without seed and fold, and tests each
// group's figures against its baseline's.
func Compare(runs []Run, o Options) (*Table, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("there are no finished runs to compare")
	}
	if o.Level == 0 {
		o.Level = .05
	}
	groups, err := group(runs)
	if err != nil {
		return nil, err
	}
	t := &Table{Figures: figureOrder(runs), Level: o.Level, Data: runs[0].Values["data.spec"]}
	t.Columns, t.Following = columns(groups, o)
	for _, g := range groups {
		for _, c := range t.Columns {
			g.Labels = append(g.Labels, g.values[c])
		}
		g.summarize(t.Figures)
	}
	t.Groups = groups
	t.sort(o)
	return t, t.test(o)
}

// group puts runs of the same settings together, in the order of their first.
func group(runs []Run) ([]*Group, error) {
	by := map[string]*Group{}
	var groups []*Group
	for _, r := range runs {
		key := settingsKey(r.Values)
		g := by[key]
		if g == nil {
			g = &Group{values: r.Values}
			by[key] = g
			groups = append(groups, g)
		}
		for _, other := range g.Runs {
			if other.Seed == r.Seed && other.Fold == r.Fold {
				return nil, fmt.Errorf("%s and %s have the same settings and seed: leave one out", other.Folder, r.Folder)
			}
		}
		g.Runs = append(g.Runs, r)
	}
	for _, g := range groups {
		slices.SortFunc(g.Runs, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Seed, b.Seed), a.Fold-b.Fold) })
	}
	return groups, nil
}

func settingsKey(values map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "%q=%q\n", k, values[k])
	}
	return b.String()
}

// summarize computes mean and deviation of every figure.
func (g *Group) summarize(figures []string) {
	g.Figures = map[string]Summary{}
	for _, f := range figures {
		x := g.figure(f)
		switch len(x) {
		case 0:
		case 1:
			g.Figures[f] = Summary{Mean: x[0], Runs: 1}
		default:
			mean, std := stat.MeanStdDev(x, nil)
			g.Figures[f] = Summary{Mean: mean, Std: std, Runs: len(x)}
		}
	}
}

// figure lists a figure of the runs that have it.
func (g *Group) figure(name string) (x []float64) {
	for _, r := range g.Runs {
		if v, ok := r.Figures[name]; ok {
			x = append(x, v)
		}
	}
	return x
}

// sort orders groups by a figure, or by the first appearance of their labels.
func (t *Table) sort(o Options) {
	if o.By != "" {
		slices.SortStableFunc(t.Groups, func(a, b *Group) int { return cmp.Compare(b.Figures[o.By].Mean, a.Figures[o.By].Mean) })
		return
	}
	seen := make([][]string, len(t.Columns))
	for c := range t.Columns {
		for _, g := range t.Groups {
			if !slices.Contains(seen[c], g.Labels[c]) {
				seen[c] = append(seen[c], g.Labels[c])
			}
		}
	}
	slices.SortStableFunc(t.Groups, func(a, b *Group) int {
		for c := range t.Columns {
			if d := slices.Index(seen[c], a.Labels[c]) - slices.Index(seen[c], b.Labels[c]); d != 0 {
				return d
			}
		}
		return 0
	})
}
