package weights

import (
	"fmt"
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
	// Hint is advice on rules that would help, or empty.
	Hint string
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

// mostLines bounds each part of the message; the fields hold everything.
const mostLines = 20

// Error lists the differences by kind, up to 20 of each.
func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "weights: %s does not fit the network:", e.Path)
	section := func(what string, n int, line func(i int) string) {
		if n == 0 {
			return
		}
		fmt.Fprintf(&b, "\n  %d %s:", n, what)
		for i := range min(n, mostLines) {
			b.WriteString("\n    " + line(i))
		}
		if n > mostLines {
			fmt.Fprintf(&b, "\n    and %d more", n-mostLines)
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
	if e.Hint != "" {
		b.WriteString("\n  " + e.Hint)
	}
	return b.String()
}

// suggest fills in the nearest names and the hint; names are all in the file.
func (e *MismatchError) suggest(names []string) {
	for i := range e.Missing {
		e.Missing[i].Nearest, _ = nearest.Of(e.Missing[i].Name, e.Unexpected)
	}
	if len(e.Missing) == 0 {
		return
	}
	// Where every missing name is there behind the same prefix, say so.
	for _, name := range names {
		p, ok := strings.CutSuffix(name, e.Missing[0].Name)
		if !ok || p == "" {
			continue
		}
		if e.allBehind(p, names) {
			e.Hint = fmt.Sprintf("every missing name is in the file behind the prefix %q: strip it", p)
			return
		}
	}
}

func (e *MismatchError) allBehind(prefix string, names []string) bool {
	have := make(map[string]bool, len(names))
	for _, n := range names {
		have[n] = true
	}
	for _, m := range e.Missing {
		if !have[prefix+m.Name] {
			return false
		}
	}
	return true
}
