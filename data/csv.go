package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// openCSV reads a table with the columns path and label, and optionally split
// (train, validation, val, test), is_query, is_gallery, category (super-class)
// and the box x1, y1, x2, y2 (also x_1, ...): those of open-metric-learning.
// Paths are relative to the table's folder. Separators are commas, semicolons
// or tabs.
func openCSV(file string, o Options) (*Set, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := newTable(file, text)
	if err != nil {
		return nil, err
	}
	set := &Set{store: fileStore{folderSource{filepath.Dir(file)}, NewDecoder(o.Decode)}}
	var keys []string
	category := map[string]string{}
	for t.next() {
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
		keys = append(keys, key)
		set.Items = append(set.Items, it)
	}
	if t.err != nil {
		return nil, t.err
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no rows", file)
	}
	set.classify(keys, nil)
	if len(category) > 0 {
		set.superClasses(func(class string) string { return category[class] }, func(it Item) string { return category[set.Classes[it.Label]] })
	}
	return set, nil
}

// table reads rows by column name.
type table struct {
	file    string
	reader  *csv.Reader
	columns map[string]int
	row     []string
	line    int
	err     error
}

func newTable(file string, text []byte) (*table, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	head, _, _ := bytes.Cut(text, []byte("\n"))
	t := &table{file: file, reader: csv.NewReader(bytes.NewReader(text)), columns: map[string]int{}}
	t.reader.ReuseRecord = true
	for _, comma := range ";\t" {
		if !bytes.ContainsRune(head, ',') && bytes.ContainsRune(head, comma) {
			t.reader.Comma = comma
		}
	}
	names, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty; wanted is a table with the columns path and label", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		switch n { // open-metric-learning's names of the box
		case "x_1", "x_2", "y_1", "y_2":
			n = strings.Replace(n, "_", "", 1)
		}
		if _, ok := t.columns[n]; ok {
			return nil, fmt.Errorf("%s: column %q comes twice", file, n)
		}
		t.columns[n] = i
	}
	for _, need := range []string{"path", "label"} {
		if _, ok := t.columns[need]; !ok {
			return nil, fmt.Errorf("%s: no column %q; the first line names %s", file, need, strings.Join(names, ", "))
		}
	}
	return t, nil
}

func (t *table) next() bool {
	row, err := t.reader.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			t.err = fmt.Errorf("%s: %w", t.file, err)
		}
		return false
	}
	t.row = row
	t.line, _ = t.reader.FieldPos(0)
	return true
}

func (t *table) wrap(err error) error { return fmt.Errorf("%s line %d: %w", t.file, t.line, err) }

// get returns a cell, "" if there is no such column or nothing in it (pandas
// writes nan or None for nothing).
func (t *table) get(column string) string {
	i, ok := t.columns[column]
	if !ok {
		return ""
	}
	cell := strings.TrimSpace(t.row[i])
	if strings.EqualFold(cell, "nan") || cell == "None" {
		return ""
	}
	return cell
}

func (t *table) flag(column string) (bool, error) {
	switch cell := t.get(column); strings.ToLower(cell) {
	case "", "0", "false", "0.0":
		return false, nil
	case "1", "true", "1.0":
		return true, nil
	default:
		return false, fmt.Errorf("%s is %q, want true or false", column, cell)
	}
}

// item makes an item of the row, and its class's key.
func (t *table) item() (it Item, key string, err error) {
	p := t.get("path")
	if p == "" {
		return it, "", errors.New("no path")
	}
	it.Path = filepath.ToSlash(p)
	if !strings.Contains(it.Path, "/") && strings.Contains(it.Path, `\`) {
		it.Path = strings.ReplaceAll(it.Path, `\`, "/")
	}
	if it.Path = path.Clean(it.Path); it.Path == "." {
		return it, "", fmt.Errorf("path %q", p)
	}
	// A label may itself be the text "nan" or "None".
	if key = strings.TrimSpace(t.row[t.columns["label"]]); key == "" {
		return it, "", errors.New("no label")
	}
	if _, ok := t.columns["split"]; ok {
		switch s := t.get("split"); strings.ToLower(s) {
		case "train":
			it.Part = TrainPart
		case "validation", "val", "test":
			it.Part = TestPart
		default:
			return it, "", fmt.Errorf("split is %q, want train, validation or test", s)
		}
	}
	if it.Role, err = t.role(it.Part); err != nil {
		return it, "", err
	}
	it.Box, err = t.box()
	return it, key, err
}

// role reads is_query and is_gallery, which say something of test rows only.
func (t *table) role(part Part) (Role, error) {
	query, err := t.flag("is_query")
	if err != nil {
		return AnyRole, err
	}
	gallery, err := t.flag("is_gallery")
	if err != nil || part == TrainPart || query == gallery {
		return AnyRole, err
	}
	if query {
		return QueryRole, nil
	}
	return GalleryRole, nil
}

// box reads x1, y1, x2, y2: all four or none.
func (t *table) box() (image.Rectangle, error) {
	var v [4]int
	given := 0
	for i, column := range []string{"x1", "y1", "x2", "y2"} {
		cell := t.get(column)
		if cell == "" {
			continue
		}
		f, err := strconv.ParseFloat(cell, 64)
		if err != nil || f < 0 || f > math.MaxInt32 {
			return image.Rectangle{}, fmt.Errorf("%s is %q, want pixels", column, cell)
		}
		v[i] = int(f)
		given++
	}
	if given == 0 {
		return image.Rectangle{}, nil
	}
	if given < 4 || v[0] >= v[2] || v[1] >= v[3] {
		return image.Rectangle{}, fmt.Errorf("box x1 %d, y1 %d, x2 %d, y2 %d: want all four, with x1 < x2 and y1 < y2", v[0], v[1], v[2], v[3])
	}
	return image.Rect(v[0], v[1], v[2], v[3]), nil
}
