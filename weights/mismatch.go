package weights

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// MismatchError lists everything in which a file and a network differ.
type MismatchError struct {
	Path, Prefix string
	Missing      []Missing
	Misshaped    []Misshaped
	// Unexpected are names in the file (without Prefix, and stripped) that the
	// network does not have and no rule ignores.
	Unexpected []string
	// Behind is a value of Rules.Prefix behind which the file has all wanted names, or
	// empty.
	Behind string
	// Modules are the classes of networks that the file holds as a whole and that
	// stayed unread.
	Modules []string
}

// Missing is a wanted tensor that the file lacks.
type Missing struct {
	Name  string
	Shape []int
	// Nearest is the most similar unexpected name, or empty.
	Nearest string
}

// Misshaped is a tensor whose shape differs.
type Misshaped struct {
	Name       string
	Want, Have []int
}

// maxLines bounds each part of the message; the fields hold everything.
const maxLines = 20

// Error lists the differences by kind, up to 20 of each.
func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "weights: %s does not fit the network:", e.Path)
	section := func(what string, n int, line func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, "\n  %d %s:", n, what)
		for i := range min(n, maxLines) {
			b.WriteString("\n    " + line(i))
		}
		if n > maxLines {
			fmt.Fprintf(&b, "\n    and %d more", n-maxLines)
		}
	}
	section("missing", len(e.Missing), func(i int) string {
		m := e.Missing[i]
		if m.Nearest == "" {
			return fmt.Sprintf("%s %v", m.Name, m.Shape)
		}
		return fmt.Sprintf("%s %v (the file has %s)", m.Name, m.Shape, m.Nearest)
	})
	section("with another shape", len(e.Misshaped), func(i int) string {
		m := e.Misshaped[i]
		return fmt.Sprintf("%s: %v in the file, %v wanted", m.Name, m.Have, m.Want)
	})
	section("in the file that the network does not have", len(e.Unexpected), func(i int) string { return e.Unexpected[i] })
	if e.Behind != "" {
		fmt.Fprintf(&b, "\n  every wanted name is in the file behind the prefix %q: choose that", e.Behind)
	}
	if len(e.Modules) > 0 {
		fmt.Fprintf(&b, "\n  it holds %s: %v", strings.Join(e.Modules, ", "), errWholeModule)
	}
	return b.String()
}

// suggest fills in the nearest names and what would help.
func (e *MismatchError) suggest(n *fileNames, want []Spec, rules Rules) {
	for i := range e.Missing {
		e.Missing[i].Nearest, _ = nearest.Of(e.Missing[i].Name, e.Unexpected)
	}
	if len(e.Missing) == 0 {
		return
	}
	e.Modules = n.f.modules
	have := make(map[string]bool, len(n.names))
	for _, name := range n.names {
		have[name] = true
	}
	// Without being chosen, a prefix that ends within a part of a name is not found.
	for _, name := range n.names {
		p, ok := strings.CutSuffix(name, e.Missing[0].Name)
		if ok && p != e.Prefix && !slices.ContainsFunc(want, func(w Spec) bool { return !have[p+w.Name] && !matchAny(w.Name, rules.Optional) }) {
			e.Behind = p
			return
		}
	}
}
