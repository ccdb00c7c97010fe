package weights

import (
	"slices"
	"strings"
)

// Rules say how the names of a file may differ from those of a network. The zero
// value demands that they agree exactly, behind one prefix.
type Rules struct {
	// Prefix chooses a network of a file that holds several: a dictionary of a
	// checkpoint, such as "state_dict/" or "teacher/", a module of a larger network,
	// such as "encoder_q.", or both, as in "state_dict/module.encoder_q.". Empty: the
	// one whose names fit best.
	Prefix string
	// Strip lists prefixes that are cut from the names in the file, as often as
	// they occur, such as "module." (DataParallel) or "backbone.".
	Strip []string
	// Transparent lists parts of names, between dots, that are left out wherever
	// they stand, such as "_orig_mod" (torch.compile). Match.Prefix has none of them.
	Transparent []string
	// Ignore lists patterns of names in the file that the network need not have:
	// classifiers ("fc.*", "last_linear.*"), BatchCounts. A pattern is a name, or
	// has a "*" at its begin, its end or both that stands for any text.
	Ignore []string
	// Optional lists patterns of wanted names that the file need not have; those
	// keep the values they have, such as a new "head.*".
	Optional []string
	// Brief leaves out of a *MismatchError what takes long: the nearest names, and behind
	// which prefix all wanted names stand.
	Brief bool
}

// BatchCounts is the pattern, for Rules.Ignore, of the counters of batch
// normalization, which no network computes with.
const BatchCounts = "*num_batches_tracked"

// Match pairs the tensors that a network wants with those of a file.
type Match struct {
	// Prefix is what stands before the names of the network that was taken; see Rules.
	Prefix string
	// Pairs are in the order of the wanted tensors.
	Pairs []Pair
	// Ignored are names in the file left out by Rules.Ignore, and those of the same
	// dictionary that do not begin with Prefix. Kept are wanted names absent by
	// Rules.Optional.
	Ignored, Kept []string
}

// Pair is a wanted tensor and the one of the file that fills it. Their shapes
// agree, except that a vector (C) may come as (1,C), as the published
// BN-Inception stores batch normalization, or as (C,1,1), as ConvNeXt's factors.
type Pair struct {
	Want Spec
	From *Tensor
}

// Fit compares names and shapes of the wanted tensors with those of a file. Their
// types need not agree. The error is a *MismatchError that lists every
// difference.
func Fit(f *File, want []Spec, rules Rules) (*Match, error) {
	names := namesOf(f, rules)
	prefix, err := names.choose(want)
	if err != nil {
		return nil, err
	}
	m := &Match{Prefix: prefix}
	bad := &MismatchError{Path: f.path, Prefix: prefix}
	have, order, err := names.behind(prefix, &m.Ignored)
	if err != nil {
		return nil, err
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
		if !rules.Brief {
			bad.suggest(names, want, rules)
		}
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

// sameShape also accepts (1,C) and (C,1,1) for (C).
func sameShape(want, have []int) bool {
	if len(want) == 1 && len(have) == 2 && have[0] == 1 {
		have = have[1:]
	}
	if len(want) == 1 && len(have) == 3 && have[1] == 1 && have[2] == 1 {
		have = have[:1]
	}
	return slices.Equal(want, have)
}
