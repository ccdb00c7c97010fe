package data

import (
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/table"
)

// openCSV reads a table with the columns path and label, and optionally split
// (train, validation, val, test; see settleValidation), is_query, is_gallery, category (super-class), group (see Item.Group)
// and the box x1, y1, x2, y2 (also x_1, ...): those of open-metric-learning.
// Others are passed over. Paths are relative to the table's folder.
func openCSV(w *progress.Tracker, file string, o Options) (*Set, error) {
	text, err := table.ReadFile(file)
	if err != nil {
		return nil, err
	}
	src := source.Folder{Root: filepath.Dir(file)}
	t, err := newRows(file, text, src)
	if err != nil {
		return nil, err
	}
	set := &Set{store: fileStore{source.Named{Tree: src}, pixels.NewDecoder(o.Decode)}, Notices: t.Notes}
	var keys []string
	category := map[string]string{}
	groups := groupNumbers{}
	for t.next() {
		if err := w.Step("looking for images", t.at, len(t.Rows)); err != nil {
			return nil, err
		}
		it, key, err := t.item()
		if err != nil {
			return nil, t.wrap(err)
		}
		if c := t.get("category"); c != "" {
			if was, ok := category[key]; ok && was != c {
				return nil, t.wrap(fmt.Errorf("label %q is in categories %q and %q", key, was, c))
			}
			category[key] = c
		}
		it.Group = groups.of(t.get("group"))
		keys = append(keys, key)
		set.Items = append(set.Items, it)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no rows", file)
	}
	if err := t.checkPlaces(set.Items); err != nil {
		return nil, err
	}
	set.classify(keys, nil)
	set.settleValidation()
	if len(category) > 0 {
		set.superClasses(func(class string) string { return category[class] }, func(it Item) string { return category[set.Classes[it.Label]] })
	}
	return set, nil
}

// rows reads a table of images by column name.
type rows struct {
	*table.Table
	file    string
	images  source.Folder
	columns map[string]int
	row     []string
	line    int
	at      int // of the next row
}

func newRows(file string, text []byte, images source.Folder) (*rows, error) {
	need := []string{"path", "label"}
	parsed, err := table.Read(text, table.Options{Need: need})
	if errors.Is(err, table.ErrEmpty) {
		return nil, fmt.Errorf("%s: empty; wanted is a table with the columns path and label", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	t := &rows{Table: parsed, file: file, images: images, columns: map[string]int{}}
	for i, n := range parsed.Names {
		n = strings.ToLower(n)
		switch n { // open-metric-learning's names of the box
		case "x_1", "x_2", "y_1", "y_2":
			n = strings.Replace(n, "_", "", 1)
		case "": // numbers of rows
			continue
		}
		if _, ok := t.columns[n]; ok {
			return nil, fmt.Errorf("%s: column %q comes twice", file, n)
		}
		t.columns[n] = i
	}
	for _, n := range need {
		if _, ok := t.columns[n]; !ok {
			return nil, fmt.Errorf("%s: no column %q; the first line names %s", file, n, strings.Join(parsed.Names, ", "))
		}
	}
	return t, nil
}

func (t *rows) next() bool {
	if t.at == len(t.Rows) {
		return false
	}
	t.row, t.line = t.Rows[t.at], t.Lines[t.at]
	t.at++
	return true
}

func (t *rows) wrap(err error) error { return fmt.Errorf("%s line %d: %w", t.file, t.line, err) }

// get returns a cell, "" if there is no such column or nothing in it (pandas
// writes nan or None for nothing).
func (t *rows) get(column string) string {
	i, ok := t.columns[column]
	if !ok || strings.EqualFold(t.row[i], "nan") || t.row[i] == "None" {
		return ""
	}
	return t.row[i]
}

func (t *rows) flag(column string) (bool, error) { return parseFlag(column, t.get(column)) }

// parseFlag reads a cell of a column that says yes or no; nothing is no.
func parseFlag(column, cell string) (bool, error) {
	switch strings.ToLower(cell) {
	case "0", "false", "0.0", "0,0":
		return false, nil
	case "1", "true", "1.0", "1,0":
		return true, nil
	default:
		if table.IsGap(cell) {
			return false, nil
		}
		return false, fmt.Errorf("%s is %q, want true or false", column, cell)
	}
}

// item makes an item of the row, and its class's key.
func (t *rows) item() (it Item, key string, err error) {
	p := t.get("path")
	if p == "" {
		return it, "", errors.New("no path")
	}
	if isURL(p) && !t.exists(p) {
		return it, "", fmt.Errorf("path %q is a URL, not a file: fetch the images first, and write where they lie", p)
	}
	if it.Path = t.place(p); it.Path == "." {
		return it, "", fmt.Errorf("path %q", p)
	}
	// A label may itself be the text "nan" or "None".
	if key = t.row[t.columns["label"]]; key == "" {
		return it, "", errors.New("no label")
	}
	if _, ok := t.columns["split"]; ok {
		switch s := t.get("split"); strings.ToLower(s) {
		case "train":
			it.Part = TrainPart
		case "validation", "val":
			it.Part = ValidationPart
		case "test":
			it.Part = TestPart
		default:
			return it, "", fmt.Errorf("split is %q, want train, validation or test", s)
		}
	}
	if it.Role, err = t.role(it.Part); err != nil {
		return it, "", err
	}
	it.line = t.line
	it.Box, err = t.box()
	return it, key, err
}

// role reads is_query and is_gallery, which say something of test rows only.
func (t *rows) role(part Part) (Role, error) {
	query, err := t.flag("is_query")
	if err != nil {
		return AnyRole, err
	}
	gallery, err := t.flag("is_gallery")
	return roleOf(part, query, gallery), err
}

// roleOf is the side of an item of which a table says whether it is a query and whether
// it is of the gallery; training rows, and those of which it says both or neither, are on
// both sides.
func roleOf(part Part, query, gallery bool) Role {
	switch {
	case part == TrainPart || query == gallery:
		return AnyRole
	case query:
		return QueryRole
	}
	return GalleryRole
}

// groupNumbers numbers groups from 1 on by their names; "" is none, 0.
type groupNumbers map[string]int

func (g groupNumbers) of(name string) int {
	if name == "" {
		return 0
	}
	if g[name] == 0 {
		g[name] = len(g) + 1
	}
	return g[name]
}

// box reads x1, y1, x2, y2: all four or none.
func (t *rows) box() (image.Rectangle, error) {
	var v [4]int
	given, largest, cells := 0, 0.0, []string(nil)
	for i, column := range []string{"x1", "y1", "x2", "y2"} {
		cell := t.get(column)
		if table.IsGap(cell) {
			continue
		}
		f, ok := table.Number(cell)
		if !ok || table.KindOf(cell) == table.Either || f < 0 || f > math.MaxInt32 {
			return image.Rectangle{}, fmt.Errorf("%s is %q, want pixels", column, cell)
		}
		v[i] = int(f)
		largest, cells = max(largest, f), append(cells, cell)
		given++
	}
	if given == 0 {
		return image.Rectangle{}, nil
	}
	if given == 4 && largest <= 1 {
		return image.Rectangle{}, fmt.Errorf("box %s: shares of the picture's width and height, want pixels: multiply x1 and x2 by its width, y1 and y2 by its height", strings.Join(cells, ", "))
	}
	if given < 4 || v[0] >= v[2] || v[1] >= v[3] {
		return image.Rectangle{}, fmt.Errorf("box x1 %d, y1 %d, x2 %d, y2 %d: want all four corners, with x1 < x2 and y1 < y2 (not a width and a height)", v[0], v[1], v[2], v[3])
	}
	return image.Rect(v[0], v[1], v[2], v[3]), nil
}

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
