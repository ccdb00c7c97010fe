package pairs

import (
	"fmt"

	"github.com/vernier-ml/vernier/internal/pairtable"
	"github.com/vernier-ml/vernier/internal/table"
)

// Pair is what a line of a file says of two images.
type Pair struct {
	A, B int // indices into File.Paths, or items of a set
	Same bool
	Line int // of the file
}

// File is what a file of pairs says.
type File struct {
	Name  string
	Paths []string // of the images, each once, in the order of the file
	Pairs []Pair
}

// ReadFile reads a table of pairs: columns a and b are paths of images, same is 1 or 0 (or
// true and false, same and different). Other columns are passed over. It is the file that
// vernier verify --pairs takes. Errors name the line.
func ReadFile(name string) (*File, error) {
	text, err := table.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Name = name
	return f, nil
}

// Read is ReadFile of a text.
func Read(text []byte) (*File, error) {
	t, err := pairtable.Read(text)
	if err != nil {
		return nil, err
	}
	if len(t.Pairs) == 0 {
		return nil, pairtable.ErrNoPairs
	}
	f := &File{Paths: t.Paths}
	for _, p := range t.Pairs {
		for side, path := range []string{t.Paths[p.A], t.Paths[p.B]} {
			if path == "" {
				return nil, fmt.Errorf("line %d: the path in column %s is empty", p.Line, "ab"[side:side+1])
			}
		}
		f.Pairs = append(f.Pairs, Pair(p))
	}
	return f, nil
}
