package pairs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

// columns of the table.
const (
	columnA    = "a"
	columnB    = "b"
	columnSame = "same"
)

// wanted says what a file has to look like.
const wanted = "want a first line a,b,same and a pair a line: two paths, and 1 for the same or 0 for different"

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
	need := []string{columnA, columnB, columnSame}
	t, err := table.Read(text, table.Options{Need: need})
	if errors.Is(err, table.ErrEmpty) {
		return nil, errors.New("the file is empty: " + wanted)
	}
	if err != nil {
		return nil, err
	}
	var at [3]int
	for i, n := range need {
		if at[i] = slices.IndexFunc(t.Names, func(c string) bool { return strings.EqualFold(c, n) }); at[i] < 0 {
			return nil, fmt.Errorf("line %d: %q has no column %q: %s", max(t.HeaderLine, 1), strings.Join(t.Names, ","), n, wanted)
		}
	}
	f, index := &File{}, map[string]int{}
	for i, row := range t.Rows {
		p := Pair{Line: t.Lines[i]}
		for side, to := range []*int{&p.A, &p.B} {
			path := row[at[side]]
			if path == "" {
				return nil, fmt.Errorf("line %d: the path in column %s is empty", p.Line, need[side])
			}
			known, ok := index[path]
			if !ok {
				known = len(f.Paths)
				index[path] = known
				f.Paths = append(f.Paths, path)
			}
			*to = known
		}
		if p.Same, err = parseSame(row[at[2]]); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.Line, err)
		}
		f.Pairs = append(f.Pairs, p)
	}
	if len(f.Pairs) == 0 {
		return nil, errors.New("there are no pairs: " + wanted)
	}
	return f, nil
}

func parseSame(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "true", "same", "1.0", "1,0":
		return true, nil
	case "0", "false", "different", "0.0", "0,0":
		return false, nil
	}
	return false, fmt.Errorf("same is %q, want 1 or 0", text)
}
