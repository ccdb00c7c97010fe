package data

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/table"
)

// place is the path of an image as a cell has it. Where the table is not UTF-8, the
// name of the file may not be either.
func (t *rows) place(cell string) string {
	p := table.Path(cell, func(p string) bool { return t.exists(p) || t.exists(nametext.Decode(p)) })
	if !t.exists(p) {
		p = filepath.ToSlash(home.Expand(p))
	}
	if t.exists(p) {
		return nametext.Encode(p)
	}
	if t.Latin {
		if raw := table.LatinBytes(p); t.exists(raw) {
			return nametext.Encode(raw)
		}
	}
	return p // also what is written as nametext writes it
}

var address = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://|^data:image/`)

// isURL reports whether a path is an address on the web or in a cloud's storage.
func isURL(path string) bool { return address.MatchString(path) }

func (t *rows) exists(p string) bool {
	_, err := t.images.Stamp(p)
	return !errors.Is(err, fs.ErrNotExist)
}

// checkPlaces refuses a table of which no image is where it says, and says what may
// be wrong with the paths. Single images that are missing show when they are read.
func (t *rows) checkPlaces(items []Item) error {
	for _, it := range items {
		if t.exists(nametext.Decode(it.Path)) {
			return nil
		}
	}
	first := items[0].Path
	hint := "paths are relative to the folder of the table, " + t.images.Root
	for rest := first; ; {
		_, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		if rest = after; rest != "" && t.exists(rest) {
			hint = fmt.Sprintf("there is %s: cut %q off the paths, which are relative to the folder of the table", t.images.Path(rest), strings.TrimSuffix(first, rest))
			return t.noPlace(first, hint)
		}
	}
	switch parent := t.images.Path(path.Dir(first)); {
	case table.IsWindows(first):
		hint = "this is a path of a Windows computer; write paths relative to the folder of the table, " + t.images.Root
	case path.Dir(first) != "." && t.exists(path.Dir(first)):
		hint = fmt.Sprintf("there is the folder %s, but no file of this name in it", parent)
	}
	return t.noPlace(first, hint)
}

func (t *rows) noPlace(first, hint string) error {
	return fmt.Errorf("%s line %d: there is no image %s, nor any other of the table; %s", t.file, t.Lines[0], first, hint)
}
