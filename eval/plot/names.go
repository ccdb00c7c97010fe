package plot

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/text/unicode/bidi"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// figureNames puts numbers in the place of names that a picture's font has no glyphs
// for, or that are written from right to left, which no text of ours is drawn in. The
// names stand in a text file beside the picture, which says so.
type figureNames struct {
	font    *sfnt.Font
	buffer  sfnt.Buffer
	numbers map[string]int
	names   []string // by number, from 1
}

// newFigureNames knows the glyphs of f; nil has all.
func newFigureNames(f *sfnt.Font) *figureNames {
	return &figureNames{font: f, numbers: map[string]int{}}
}

// of is what is drawn for a name.
func (n *figureNames) of(name string) string {
	name = nametext.Show(name)
	if n.draws(name) {
		return name
	}
	number, ok := n.numbers[name]
	if !ok {
		n.names = append(n.names, name)
		number = len(n.names)
		n.numbers[name] = number
	}
	return fmt.Sprintf("(%d)", number)
}

// all is of for a list.
func (n *figureNames) all(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = n.of(name)
	}
	return out
}

func (n *figureNames) draws(name string) bool {
	if n.font == nil {
		return true
	}
	for _, r := range name {
		if p, _ := bidi.LookupRune(r); p.Class() == bidi.R || p.Class() == bidi.AL {
			return false
		}
		if at, err := n.font.GlyphIndex(&n.buffer, r); err != nil || at == 0 {
			return false
		}
	}
	return true
}

// note says in the picture at path where the names are; it is empty if none is missing.
func (n *figureNames) note(path string) string {
	if len(n.names) == 0 {
		return ""
	}
	return "numbers in brackets: names in " + filepath.Base(namesFile(path))
}

// write makes the file of names.
func (n *figureNames) write(path string) error {
	if len(n.names) == 0 {
		return nil
	}
	return wholefile.Write(namesFile(path), func(w io.Writer) error {
		for i, name := range n.names {
			if _, err := fmt.Fprintf(w, "(%d)\t%s\n", i+1, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// namesFile is the legend of the picture at path.
func namesFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-names.txt"
}
