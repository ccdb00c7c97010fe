package weights

import (
	"fmt"
	"slices"
	"strings"
)

// Rules say how the names of a file may differ from those of a network. The zero
// value demands that they agree exactly.
type Rules struct {
	// Prefix chooses the dictionary of a checkpoint that holds several, such as
	// "state_dict/" or "teacher/". Empty: the one whose names fit best.
	Prefix string
	// Strip lists prefixes that are cut from the names in the file, as often as
	// they occur, such as "module." (DataParallel) or "backbone.".
	Strip []string
	// Ignore lists patterns of names in the file that the network need not have:
	// classifiers ("fc.*", "last_linear.*"), BatchCounts. A pattern is a name, or
	// has a "*" at its begin, its end or both that stands for any text.
	Ignore []string
	// Optional lists patterns of wanted names that the file need not have; those
	// keep the values they have, such as a new "head.*".
	Optional []string
}

// BatchCounts is the pattern, for Rules.Ignore, of the counters of batch
// normalisation, which no network computes with.
const BatchCounts = "*num_batches_tracked"

// Match pairs the tensors that a network wants with those of a file.
type Match struct {
	// Prefix is the dictionary in the file that was taken; see Rules.
	Prefix string
	// Pairs are in the order of the wanted tensors.
	Pairs []Pair
	// Ignored are names in the file left out by Rules.Ignore, Kept are wanted
	// names absent by Rules.Optional.
	Ignored, Kept []string
}

// Pair is a wanted tensor and the one of the file that fills it. Their shapes
// agree, except that a vector (C) may come as (1,C), as the published
// BN-Inception stores batch normalisation.
type Pair struct {
	Want Spec
	From *Tensor
}

// Fit compares names and shapes of the wanted tensors with those of a file. Their
// types need not agree. The error is a *MismatchError that lists every
// difference.
func Fit(f *File, want []Spec, rules Rules) (*Match, error) {
	prefix, err := choosePrefix(f, want, rules)
	if err != nil {
		return nil, err
	}
	m := &Match{Prefix: prefix}
	bad := &MismatchError{Path: f.path, Prefix: prefix}
	have := map[string]*Tensor{}
	var order []string
	for _, t := range f.Tensors() {
		rest, ok := strings.CutPrefix(t.Name, prefix)
		if !ok {
			continue
		}
		name := stripName(rest, rules.Strip)
		if other := have[name]; other != nil {
			return nil, fmt.Errorf("weights: %s: %q and %q are both called %q when %q is stripped", f.path, other.Name, t.Name, name, rules.Strip)
		}
		have[name] = t
		order = append(order, name)
	}
	wanted := map[string]bool{}
	for _, w := range want {
		wanted[w.Name] = true
		t := have[w.Name]
		switch {
		case t == nil && matchAny(w.Name, rules.Optional):
			m.Kept = append(m.Kept, w.Name)
		case t == nil:
			bad.Missing = append(bad.Missing, Missing{Name: w.Name, Shape: w.Shape})
		case !sameShape(w.Shape, t.Shape):
			bad.Misshaped = append(bad.Misshaped, Misshaped{Name: w.Name, Want: w.Shape, Have: t.Shape})
		default:
			m.Pairs = append(m.Pairs, Pair{w, t})
		}
	}
	for _, name := range order {
		switch {
		case wanted[name]:
		case matchAny(name, rules.Ignore):
			m.Ignored = append(m.Ignored, name)
		default:
			bad.Unexpected = append(bad.Unexpected, name)
		}
	}
	if len(bad.Missing)+len(bad.Unexpected)+len(bad.Misshaped) > 0 {
		bad.suggest(order)
		return nil, bad
	}
	return m, nil
}

// Read reads every paired tensor into the slice that dst returns for it, which
// must have as many elements as Want.
func (m *Match) Read(dst func(want Spec) []float32) error {
	for _, p := range m.Pairs {
		if err := p.From.ReadFloat32(dst(p.Want)); err != nil {
			return err
		}
	}
	return nil
}

// Load fits and reads, and returns the numbers by wanted name.
func Load(f *File, want []Spec, rules Rules) (map[string][]float32, *Match, error) {
	m, err := Fit(f, want, rules)
	if err != nil {
		return nil, nil, err
	}
	out := make(map[string][]float32, len(m.Pairs))
	for _, p := range m.Pairs {
		if out[p.Want.Name], err = p.From.Float32(); err != nil {
			return nil, nil, err
		}
	}
	return out, m, nil
}

// choosePrefix returns the dictionary of the file that has most of the wanted
// names. Two that have equally many (a student and its teacher) must be told
// apart by the caller.
func choosePrefix(f *File, want []Spec, rules Rules) (string, error) {
	if rules.Prefix != "" {
		for i := range f.tensors {
			if strings.HasPrefix(f.tensors[i].Name, rules.Prefix) {
				return rules.Prefix, nil
			}
		}
		return "", fmt.Errorf("weights: %s: no tensor name begins with %q; dictionaries in the file: %q", f.path, rules.Prefix, dictionaries(f))
	}
	wanted := make(map[string]bool, len(want))
	for _, w := range want {
		wanted[w.Name] = true
	}
	hits := map[string]int{}
	for i := range f.tensors {
		name := f.tensors[i].Name
		// A wanted name may itself contain slashes: try every split.
		for cut, splits := 0, 0; splits <= maxDepth; splits++ {
			if wanted[stripName(name[cut:], rules.Strip)] {
				hits[name[:cut]]++
			}
			next := strings.IndexByte(name[cut:], '/')
			if next < 0 {
				break
			}
			cut += next + 1
		}
	}
	best, ties := "", []string(nil)
	for prefix, n := range hits {
		switch {
		case len(ties) == 0 || n > hits[best]:
			best, ties = prefix, []string{prefix}
		case n == hits[best]:
			ties = append(ties, prefix)
		}
	}
	switch {
	case len(ties) > 1:
		slices.Sort(ties)
		return "", fmt.Errorf("weights: %s holds the network more than once: choose one of %q as prefix", f.path, ties)
	case len(ties) == 0:
		// Nothing fits. Compare with the only dictionary, if there is just one.
		if dirs := dictionaries(f); len(dirs) == 1 {
			return dirs[0], nil
		}
	}
	return best, nil
}

// dictionaries returns the distinct prefixes of the names, up to the last slash.
func dictionaries(f *File) []string {
	var dirs []string
	seen := map[string]bool{}
	for i := range f.tensors {
		name := f.tensors[i].Name
		if dir := name[:strings.LastIndexByte(name, '/')+1]; !seen[dir] {
			seen[dir] = true
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// stripName cuts prefixes from a name until none is left.
func stripName(name string, prefixes []string) string {
	for again := true; again; {
		again = false
		for _, p := range prefixes {
			if rest, ok := strings.CutPrefix(name, p); ok && p != "" && rest != "" {
				name, again = rest, true
			}
		}
	}
	return name
}

func matchAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchPattern(name, p) })
}

// matchPattern is documented at Rules.Ignore.
func matchPattern(name, pattern string) bool {
	middle, start := strings.CutPrefix(pattern, "*")
	middle, end := strings.CutSuffix(middle, "*")
	switch {
	case start && end:
		return strings.Contains(name, middle)
	case start:
		return strings.HasSuffix(name, middle)
	case end:
		return strings.HasPrefix(name, middle)
	}
	return name == pattern
}

// sameShape also accepts (1,C) for (C).
func sameShape(want, have []int) bool {
	if len(want) == 1 && len(have) == 2 && have[0] == 1 {
		have = have[1:]
	}
	return slices.Equal(want, have)
}
