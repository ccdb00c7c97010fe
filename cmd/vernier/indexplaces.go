package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// places finds one name for each image file, whatever the way to it: the real path of
// its folder, and the name it has there. A link to a file is another file, since links
// are how some stores give their files names.
type places struct {
	folders  map[string]string // real paths, by folder as it is written
	archives map[string]string // of archives
}

func newPlaces() *places {
	return &places{map[string]string{}, map[string]string{}}
}

// of is the place of a file, or of an archive and the file in it, ARCHIVE!FILE. What is
// neither, such as a picture that is drawn, stays as it is.
func (p *places) of(where string) string {
	return nametext.Encode(p.onDisk(nametext.Decode(where)))
}

// ofItem is the place of an image of a set, with its box behind it: several images may be
// of one file.
func (p *places) ofItem(set *data.Set, i int) string {
	where := p.of(set.Where(i))
	if box := set.Items[i].Box; !box.Empty() {
		where += fmt.Sprintf("#%d,%d,%d,%d", box.Min.X, box.Min.Y, box.Max.X, box.Max.Y)
	}
	return where
}

func (p *places) onDisk(where string) string {
	if _, err := os.Lstat(where); err == nil {
		dir, name := filepath.Split(where) // not filepath.Dir, which takes link/.. for nothing
		return filepath.Join(realPath(p.folders, dir), name)
	}
	for i, c := range where {
		if c != '!' {
			continue
		}
		archive := where[:i]
		if known, ok := p.archives[archive]; ok {
			return known + where[i:]
		}
		if stat, err := os.Stat(archive); err == nil && stat.Mode().IsRegular() {
			return realPath(p.archives, archive) + where[i:]
		}
	}
	return where
}

// realPath is the absolute path without links, or the best that can be had of it.
func realPath(known map[string]string, path string) string {
	if r, ok := known[path]; ok {
		return r
	}
	r := cmp.Or(path, ".")
	if resolved, err := filepath.EvalSymlinks(r); err == nil {
		r = resolved
	}
	if abs, err := filepath.Abs(r); err == nil {
		r = abs
	}
	known[path] = r
	return r
}
