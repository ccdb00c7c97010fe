package weights

import (
	"fmt"
	"slices"
	"strings"
)

// fileNames are the names of a file as they are compared with those of a network:
// without transparent parts.
type fileNames struct {
	f     *File
	rules Rules
	names []string // in the order of the file's tensors
}

func namesOf(f *File, rules Rules) *fileNames {
	n := &fileNames{f: f, rules: rules, names: make([]string, len(f.tensors))}
	for i := range f.tensors {
		n.names[i] = withoutParts(f.tensors[i].Name, rules.Transparent)
	}
	return n
}

// withoutParts leaves parts out of a name whose parts end at dots and slashes.
func withoutParts(name string, parts []string) string {
	if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p+".") }) {
		return name
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		n := nextCut(rest)
		if n == 0 {
			n = len(rest)
		}
		if part, ok := strings.CutSuffix(rest[:n], "."); !ok || !slices.Contains(parts, part) {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// nextCut returns the length of the first part of a name with the dot or slash
// behind it, or 0 where there is only one part.
func nextCut(name string) int { return strings.IndexAny(name, "./") + 1 }

// cuts calls visit with every prefix of a name that ends at a dot or a slash, the
// empty one first, and with what follows, stripped.
func (n *fileNames) cuts(name string, visit func(prefix, rest string)) {
	for at, splits := 0, 0; splits <= maxDepth; splits++ {
		visit(name[:at], stripName(name[at:], n.rules.Strip))
		next := nextCut(name[at:])
		if next == 0 {
			return
		}
		at += next
	}
}

// AmbiguousError says that a file holds a network more than once, as a student and
// its teacher.
type AmbiguousError struct {
	Path string
	// Prefixes are the values of Rules.Prefix that choose one.
	Prefixes []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("weights: %s holds the network more than once: choose one of %q as prefix", e.Path, e.Prefixes)
}

// choose returns the prefix behind which most of the wanted names stand; of several
// the one that leaves the fewest names over, and of these the shortest. Prefixes of
// different networks (a student and its teacher) must be distinguished by the caller.
func (n *fileNames) choose(want []Spec) (string, error) {
	if n.rules.Prefix != "" {
		return n.chosen()
	}
	wanted := make(map[string]bool, len(want))
	for _, w := range want {
		wanted[w.Name] = true
	}
	best := n.leastLeft(n.maxHits(wanted), wanted)
	switch {
	case len(best) == 0:
		// Nothing fits. Compare with the only dictionary, if there is just one.
		if dirs := n.dictionaries(); len(dirs) == 1 {
			return dirs[0], nil
		}
		return "", nil
	case len(best) > 1:
		return "", &AmbiguousError{n.f.path, best}
	}
	return best[0], nil
}

// chosen is the prefix of Rules, as it stands in the file. It may be given without
// what stands before it where that is the same for all names.
func (n *fileNames) chosen() (string, error) {
	given := withoutParts(n.rules.Prefix, n.rules.Transparent)
	found := map[string]bool{}
	for _, name := range n.names {
		if strings.HasPrefix(name, given) {
			return given, nil
		}
		if len(found) > 1 {
			continue
		}
		n.cuts(name, func(prefix, _ string) {
			if strings.HasPrefix(name[len(prefix):], given) {
				found[prefix+given] = true
			}
		})
	}
	if len(found) == 1 {
		for prefix := range found {
			return prefix, nil
		}
	}
	return "", fmt.Errorf("weights: %s: no tensor name begins with %q; names begin with: %s", n.f.path, n.rules.Prefix, quoteSome(n.beginnings()))
}

// maxHits returns the prefixes behind which most of the wanted names stand.
func (n *fileNames) maxHits(wanted map[string]bool) (best []string) {
	type hit struct{ prefix, name string }
	seen, hits := map[hit]bool{}, map[string]int{}
	for _, name := range n.names {
		n.cuts(name, func(prefix, rest string) {
			if h := (hit{prefix, rest}); wanted[rest] && !seen[h] {
				seen[h] = true
				hits[prefix]++
			}
		})
	}
	most := 0
	for prefix, k := range hits {
		if k > most {
			best, most = best[:0], k
		}
		if k == most {
			best = append(best, prefix)
		}
	}
	return best
}

// leastLeft returns those of some prefixes that leave the fewest names over which
// the network does not have and no rule ignores, sorted, and without those that
// begin with another of them.
func (n *fileNames) leastLeft(prefixes []string, wanted map[string]bool) (best []string) {
	left := make(map[string]int, len(prefixes))
	for _, p := range prefixes {
		left[p] = 0
	}
	for _, name := range n.names {
		n.cuts(name, func(prefix, rest string) {
			if _, asked := left[prefix]; asked && !wanted[rest] && !matchAny(rest, n.rules.Ignore) {
				left[prefix]++
			}
		})
	}
	slices.Sort(prefixes)
	fewest := len(n.names)
	for _, p := range prefixes {
		fewest = min(fewest, left[p])
	}
	for _, p := range prefixes {
		if left[p] == fewest && !(len(best) > 0 && strings.HasPrefix(p, best[len(best)-1])) {
			best = append(best, p)
		}
	}
	return best
}

// behind returns the tensors behind a prefix by their stripped names, and the names
// in the order of the file. Other names of the same dictionary are appended to
// outside.
func (n *fileNames) behind(prefix string, outside *[]string) (have map[string]*Tensor, order []string, err error) {
	have = map[string]*Tensor{}
	dictionary := prefix[:strings.LastIndexByte(prefix, '/')+1]
	for i, t := range n.f.Tensors() {
		rest, ok := strings.CutPrefix(n.names[i], prefix)
		if !ok {
			if strings.HasPrefix(n.names[i], dictionary) {
				*outside = append(*outside, t.Name)
			}
			continue
		}
		if !endsPart(prefix) {
			rest = strings.TrimLeft(rest, "./")
		}
		name := stripName(rest, n.rules.Strip)
		if other := have[name]; other != nil {
			return nil, nil, fmt.Errorf("weights: %s: %q and %q are both called %q without their prefixes", n.f.path, other.Name, t.Name, name)
		}
		have[name] = t
		order = append(order, name)
	}
	return have, order, nil
}

// endsPart reports whether a prefix ends where a part of a name does.
func endsPart(prefix string) bool {
	return prefix == "" || strings.HasSuffix(prefix, ".") || strings.HasSuffix(prefix, "/")
}

// dictionaries returns the distinct prefixes of the names, up to the last slash.
func (n *fileNames) dictionaries() []string {
	return distinct(n.names, func(name string) string { return name[:strings.LastIndexByte(name, '/')+1] })
}

// beginnings returns the distinct dictionaries with the first part of the names in
// them.
func (n *fileNames) beginnings() []string {
	return distinct(n.names, func(name string) string {
		at := strings.LastIndexByte(name, '/') + 1
		return name[:at+nextCut(name[at:])]
	})
}

func distinct(names []string, part func(name string) string) (parts []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if p := part(name); !seen[p] {
			seen[p] = true
			parts = append(parts, p)
		}
	}
	return parts
}

// quoteSome lists the first of some names.
func quoteSome(names []string) string {
	const shown = 10
	text := fmt.Sprintf("%q", names[:min(len(names), shown)])
	if len(names) > shown {
		text += fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return text
}
