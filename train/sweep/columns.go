package sweep

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Following is a place whose value is the same wherever those at others are.
type Following struct {
	Place string   `json:"place"`
	From  []string `json:"from"` // columns, as few as will do
}

// columns are the places in which groups differ, apart from those whose values
// follow from the columns for a reason: the file sets them together, or nobody
// gave them and they are what a configuration takes from its other settings. That
// they follow in the runs at hand is none: of a few random draws each is another.
func columns(groups []*Group, o Options) (kept []string, following []Following) {
	var differing []string
	all := places(groups)
	for place := range all {
		differs := func(g *Group) bool { return g.values[place] != groups[0].values[place] }
		if !slices.Contains(o.Order, place) && slices.ContainsFunc(groups, differs) {
			differing = append(differing, place)
		}
	}
	for _, place := range o.Order { // though runs that would differ are missing
		part := func(p string) bool { return strings.HasPrefix(p, place+".") }
		if all[place] || !slices.ContainsFunc(slices.Collect(maps.Keys(all)), part) {
			differing = append(differing, place)
		}
	}
	first := append(slices.Clone(o.Order), usual...)
	rank := func(place string) int {
		if i := slices.Index(first, place); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(differing, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	var rest []string
	for _, place := range differing {
		given := o.given(place)
		if given == "" && (len(o.Order) > 0 || implied(groups, place)) {
			rest = append(rest, place)
			continue
		}
		var with []string
		for _, p := range o.With[given] {
			if slices.Contains(kept, p) {
				with = append(with, p)
			}
		}
		if len(with) > 0 && follows(groups, with, place) {
			following = append(following, Following{place, fewest(groups, with, place)})
			continue
		}
		kept = append(kept, place)
	}
	for _, place := range rest {
		if follows(groups, kept, place) {
			following = append(following, Following{place, fewest(groups, kept, place)})
		} else {
			kept = append(kept, place)
		}
	}
	return kept, following
}

// given is the place in Order that a place is, or is a part of.
func (o Options) given(place string) string {
	for _, p := range o.Order {
		if place == p || strings.HasPrefix(place, p+".") {
			return p
		}
	}
	return ""
}

// implied reports whether the value at a place is, in every run, the one that its
// configuration has if nobody gives it.
func implied(groups []*Group, place string) bool {
	for _, g := range groups {
		if c := g.Runs[0].config; c == nil || !c.Implied(place) {
			return false
		}
	}
	return true
}

// fewest are those of the given places from which a value follows. Places of many
// values are done without first: from these anything seems to follow.
func fewest(groups []*Group, given []string, place string) []string {
	values := func(p string) int {
		seen := map[string]bool{}
		for _, g := range groups {
			seen[g.values[p]] = true
		}
		return len(seen)
	}
	order := slices.Clone(given)
	slices.SortStableFunc(order, func(a, b string) int { return values(b) - values(a) })
	from := slices.Clone(given)
	for _, one := range order {
		fewer := slices.DeleteFunc(slices.Clone(from), func(p string) bool { return p == one })
		if follows(groups, fewer, place) {
			from = fewer
		}
	}
	return from
}

// follows reports whether the value at a place is the same wherever those at the
// given places are.
func follows(groups []*Group, given []string, place string) bool {
	value := map[string]string{}
	for _, g := range groups {
		key := ""
		for _, p := range given {
			key += strconv.Quote(g.values[p])
		}
		if v, ok := value[key]; ok && v != g.values[place] {
			return false
		}
		value[key] = g.values[place]
	}
	return true
}

func places(groups []*Group) map[string]bool {
	all := map[string]bool{}
	for _, g := range groups {
		for place := range g.values {
			all[place] = true
		}
	}
	return all
}
