package eval

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/vernier-ml/vernier/internal/pairtable"
)

// Pair are two rows and whether they show the same.
type Pair struct {
	A, B int // A is the anchor, where the metric is not symmetric
	Same bool
}

// PairList is what a file of pairs says.
type PairList struct {
	Paths []string // of the images, each once, in the order of the file
	Pairs []Pair   // indices into Paths
	Rows  []int    // the line of the file on which a pair begins, for messages
	// Identity of every image. In a file without columns for it, images that
	// are connected by "same" pairs are one identity, called by its first path.
	Identity []string
	// Stated says that the file has those columns.
	Stated bool
}

// ReadPairs reads a table with a header: columns a and b are paths of
// images, same is 1 or 0 (true or false, same or different). Columns
// identity_a and identity_b, if there are any, say what the images show.
// Others are passed over. Contradictions are errors that name the line.
func ReadPairs(r io.Reader) (*PairList, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t, err := pairtable.Read(text)
	if err != nil {
		return nil, err
	}
	l := &PairList{Paths: t.Paths, Identity: make([]string, len(t.Paths))}
	ia, haveA := t.Columns["identity_a"]
	ib, haveB := t.Columns["identity_b"]
	if haveA != haveB {
		return nil, errors.New("there is one of the columns identity_a and identity_b: want both or none")
	}
	l.Stated = haveA
	for i, p := range t.Pairs {
		if l.Stated {
			for _, of := range [][2]int{{p.A, ia}, {p.B, ib}} {
				if err := l.state(of[0], t.Rows[i][of[1]]); err != nil {
					return nil, fmt.Errorf("line %d: %w", p.Line, err)
				}
			}
		}
		l.Pairs, l.Rows = append(l.Pairs, Pair{p.A, p.B, p.Same}), append(l.Rows, p.Line)
	}
	if !l.Stated {
		l.connect()
	}
	return l, l.check()
}

func (l *PairList) state(image int, identity string) error {
	switch was := l.Identity[image]; {
	case identity == "":
		return fmt.Errorf("the identity of %s is empty", l.Paths[image])
	case was != "" && was != identity:
		return fmt.Errorf("%s is of identity %q here and of %q before", l.Paths[image], identity, was)
	}
	l.Identity[image] = identity
	return nil
}

// connect finds identities as components of the graph of "same" pairs.
func (l *PairList) connect() {
	root := LeaveOneOut(len(l.Paths)) // the smallest image known to be the same
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, p := range l.Pairs {
		if p.Same {
			a, b := find(p.A), find(p.B)
			root[max(a, b)] = min(a, b)
		}
	}
	for i := range l.Identity {
		l.Identity[i] = l.Paths[find(i)]
	}
}

// Identify replaces the identities by those of the images, in the order of
// Paths, and checks the pairs against them.
func (l *PairList) Identify(identity []string) error {
	if len(identity) != len(l.Paths) {
		return fmt.Errorf("eval: %d identities for %d images", len(identity), len(l.Paths))
	}
	l.Identity = identity
	return l.check()
}

// Keep drops the images that keep does not name, in the order of Paths, and the pairs
// that they are in. It returns the number of pairs dropped.
func (l *PairList) Keep(keep []bool) (dropped int, err error) {
	if len(keep) != len(l.Paths) {
		return 0, fmt.Errorf("eval: %d images to keep or drop, there are %d", len(keep), len(l.Paths))
	}
	place := make([]int, len(keep))
	kept := &PairList{Stated: l.Stated}
	for i, k := range keep {
		if place[i] = len(kept.Paths); k {
			kept.Paths, kept.Identity = append(kept.Paths, l.Paths[i]), append(kept.Identity, l.Identity[i])
		}
	}
	for i, p := range l.Pairs {
		if keep[p.A] && keep[p.B] {
			kept.Pairs, kept.Rows = append(kept.Pairs, Pair{place[p.A], place[p.B], p.Same}), append(kept.Rows, l.Rows[i])
		}
	}
	dropped = len(l.Pairs) - len(kept.Pairs)
	*l = *kept
	return dropped, l.check()
}

// check finds pairs that contradict the identities.
func (l *PairList) check() error {
	if len(l.Pairs) == 0 {
		return errors.New("there are no pairs")
	}
	for i, p := range l.Pairs {
		a, b := l.Paths[p.A], l.Paths[p.B]
		switch equal := l.Identity[p.A] == l.Identity[p.B]; {
		case a == "" || b == "":
			return fmt.Errorf("line %d: a path is empty", l.Rows[i])
		case p.A == p.B:
			return fmt.Errorf("line %d: %s is paired with itself", l.Rows[i], a)
		case equal && !p.Same:
			return fmt.Errorf("line %d: %s and %s are called different, but both are of identity %q", l.Rows[i], a, b, l.Identity[p.A])
		case !equal && p.Same:
			return fmt.Errorf("line %d: %s and %s are called the same, but are of identities %q and %q", l.Rows[i], a, b, l.Identity[p.A], l.Identity[p.B])
		}
	}
	return nil
}

// Split divides the pairs by identity as SplitIdentities does. Pairs across the
// two sides are in neither, and counted.
func (l *PairList) Split(share float64, seed uint64) (calibration, test []Pair, across int, err error) {
	first, _, err := SplitIdentities(l.Identity, share, seed)
	if err != nil {
		return nil, nil, 0, err
	}
	inFirst := make([]bool, len(l.Paths))
	for _, i := range first {
		inFirst[i] = true
	}
	for _, p := range l.Pairs {
		switch {
		case inFirst[p.A] && inFirst[p.B]:
			calibration = append(calibration, p)
		case inFirst[p.A] || inFirst[p.B]:
			across++
		default:
			test = append(test, p)
		}
	}
	return calibration, test, across, nil
}

// Identities lists the distinct identities of pairs, sorted.
func (l *PairList) Identities(pairs []Pair) []string {
	var ids []string
	for _, p := range pairs {
		ids = append(ids, l.Identity[p.A], l.Identity[p.B])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
