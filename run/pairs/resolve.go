package pairs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/table"
)

// Found are the pairs of a file whose images a set has.
type Found struct {
	Pairs []Pair // of items of the set
	// Unknown says, line by line, which images the set does not have; Itself which lines
	// pair an image with itself, under two paths perhaps.
	Unknown, Itself []Fault
}

// Fault is what is wrong with a line.
type Fault struct {
	Line int
	Text string
}

func (f Fault) String() string { return fmt.Sprintf("line %d: %s", f.Line, f.Text) }

// Find looks the images up. A path is one of the set's own, as vernier search prints them
// for a set, or that of the image's file, absolute or relative to the folder of the file of
// pairs or to the working directory, whatever links lead to it and with either slash.
func (f *File) Find(set *data.Set) Found {
	items := newPlaces(set, filepath.Dir(f.Name))
	item := make([]int, len(f.Paths))
	for i, path := range f.Paths {
		item[i] = items.of(path)
	}
	var found Found
	for _, p := range f.Pairs {
		known := true
		for _, at := range []int{p.A, p.B} {
			if item[at] < 0 {
				found.Unknown = append(found.Unknown, Fault{p.Line, fmt.Sprintf("there is no image %s in %s", f.Paths[at], set.Name)})
				known = false
			}
		}
		switch a, b := item[p.A], item[p.B]; {
		case !known:
		case a == b:
			found.Itself = append(found.Itself, Fault{p.Line, f.Paths[p.A] + " is paired with itself"})
		default:
			found.Pairs = append(found.Pairs, Pair{a, b, p.Same, p.Line})
		}
	}
	return found
}

// places finds items by paths.
type places struct {
	byPath map[string]int // in the set
	byFile map[string]int // real paths of files, made when they are first needed
	set    *data.Set
	dir    string
	real   map[string]string // of folders
}

func newPlaces(set *data.Set, dir string) *places {
	p := &places{byPath: map[string]int{}, set: set, dir: dir, real: map[string]string{}}
	for i, it := range set.Items {
		if _, ok := p.byPath[it.Path]; !ok {
			p.byPath[it.Path] = i
		}
	}
	return p
}

// of returns the item at a path, -1 for none.
func (p *places) of(path string) int {
	inSet := func(path string) bool { _, ok := p.byPath[path]; return ok }
	if i, ok := p.byPath[path]; ok {
		return i
	}
	path = table.Path(path, inSet)
	if i, ok := p.byPath[path]; ok {
		return i
	}
	if p.byFile == nil {
		p.byFile = map[string]int{}
		for i := range p.set.Items {
			if where := p.place(nametext.Decode(p.set.Where(i))); where != "" {
				if _, ok := p.byFile[where]; !ok {
					p.byFile[where] = i
				}
			}
		}
	}
	path = home.Expand(filepath.FromSlash(path))
	tries := []string{path}
	if !filepath.IsAbs(path) {
		tries = append(tries, filepath.Join(p.dir, path))
	}
	for _, t := range tries {
		if i, ok := p.byFile[p.place(nametext.Decode(t))]; ok {
			return i
		}
	}
	return -1
}

// place is a path without links in its folders. What lies in an archive stays as it is
// written, ARCHIVE!FILE, but for the folder of the archive.
func (p *places) place(path string) string {
	dir, name := filepath.Split(path)
	known, ok := p.real[dir]
	if !ok {
		known = dir
		if dir == "" {
			known = "."
		}
		if abs, err := filepath.Abs(known); err == nil {
			known = abs
		}
		if real, err := filepath.EvalSymlinks(known); err == nil {
			known = real
		} else if !os.IsNotExist(err) {
			known = filepath.Clean(known)
		}
		p.real[dir] = known
	}
	return filepath.Join(known, name)
}
