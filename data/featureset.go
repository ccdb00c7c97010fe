package data

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data/features"
	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/table"
)

// labelsOption names the file of labels behind that of features.
const labelsOption = ",labels="

// SplitFeatures takes the path of a specification of features apart: the file of rows,
// and that of their labels, or "".
func SplitFeatures(path string) (rows, labels string) {
	if i := strings.LastIndex(path, labelsOption); i >= 0 {
		return path[:i], path[i+len(labelsOption):]
	}
	return path, ""
}

// JoinFeatures is the inverse of SplitFeatures.
func JoinFeatures(rows, labels string) string {
	if labels == "" {
		return rows
	}
	return rows + labelsOption + labels
}

// openFeatureSet opens rows with their labels.
func openFeatureSet(_ *progress.Tracker, path string, _ Options) (*Set, error) {
	rows, labels := SplitFeatures(path)
	return openFeatureFile(rows, labels, true)
}

// OpenRows opens files of rows without classes: all are of one that has no name.
func OpenRows(paths []string) (*Set, error) {
	all := &Set{Name: strings.Join(paths, " "), Classes: []string{""}}
	store := &joinedRows{}
	for _, p := range paths {
		set, err := openFeatureFile(p, "", false)
		if err == nil && len(store.parts) > 0 && set.Width() != store.width() {
			err = fmt.Errorf("%s has rows of %d numbers, %s of %d", p, set.Width(), paths[0], store.width())
			set.Close()
		}
		if err != nil {
			return nil, errors.Join(err, store.close())
		}
		for _, it := range set.Items {
			it.origin = len(store.parts)
			if len(paths) > 1 {
				it.Path = p + "!" + it.Path
			}
			all.Items = append(all.Items, it)
		}
		store.parts = append(store.parts, set.store.(rowStore))
	}
	all.store = store
	return all, nil
}

// joinedRows are the rows of several files; Item.origin is the number of the file.
type joinedRows struct{ parts []rowStore }

func (s *joinedRows) name(it Item) string {
	if len(s.parts) > 1 {
		return it.Path // which has the file
	}
	return s.parts[it.origin].name(it)
}
func (s *joinedRows) width() int { return s.parts[0].width() }
func (s *joinedRows) row(dst []float32, it Item) error {
	return s.parts[it.origin].row(dst, it)
}
func (s *joinedRows) version() string                                  { return "" }
func (s *joinedRows) content(it Item) ([]byte, error)                  { return rowContent(s, it) }
func (s *joinedRows) image(context.Context, Item) (*pixels.RGB, error) { return nil, errIsRow }
func (s *joinedRows) close() (err error) {
	for _, p := range s.parts {
		err = errors.Join(err, p.close())
	}
	return err
}

// openFeatureFile opens a file of rows, with classes from itself or from another file.
func openFeatureFile(rows, labels string, classes bool) (*Set, error) {
	f, err := features.Open(rows)
	if err != nil {
		return nil, err
	}
	set := &Set{Items: numbered(f.Rows()), store: &featureStore{f}, Classes: []string{""}}
	if err := set.describeRows(f, labels, classes); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return set, nil
}

// values reads the column of the first of some names that a file of rows has, one text a
// row; nil if it has none of them.
func values(f *features.File, names ...string) ([]string, error) {
	for _, name := range names {
		if !slices.Contains(f.Columns(), name) {
			continue
		}
		c, err := f.Column(name)
		if err != nil {
			return nil, err
		}
		return texts(c), nil
	}
	return nil, nil
}

// texts are the values of a column; equal numbers share one text.
func texts(c *features.Column) []string {
	list := make([]string, c.Len())
	if c.Texts != nil {
		copy(list, c.Texts)
		return list
	}
	known := map[int]string{}
	for i, n := range c.Ints {
		text, ok := known[n]
		if !ok {
			text = c.Text(i)
			known[n] = text
		}
		list[i] = text
	}
	return list
}

// describeRows gives items their classes, and paths, parts and super-classes where there
// are any: those of a table of labels, or of the file of rows.
func (s *Set) describeRows(f *features.File, labels string, classes bool) (err error) {
	if slices.Contains([]string{".csv", ".tsv"}, strings.ToLower(filepath.Ext(labels))) {
		return s.describeByTable(labels)
	}
	var d description
	d.file = f.Path()
	if d.paths, err = values(f, "path", "paths"); err != nil {
		return err
	}
	if !classes {
		return s.describe(d)
	}
	var c *features.Column
	if labels != "" {
		d.file = labels
		c, err = features.ReadColumn(labels)
	} else if c, err = f.LabelColumn(); c == nil && err == nil {
		return fmt.Errorf("%s holds no labels: name a file of them, as in features:%s%sy.npy", f.Path(), f.Path(), labelsOption)
	}
	if err != nil {
		return err
	}
	d.labels = texts(c)
	if d.parts, err = values(f, "split"); err != nil {
		return err
	}
	for name, list := range map[string]*[]string{"category": &d.super, "group": &d.groups, "is_query": &d.query, "is_gallery": &d.gallery} {
		if *list, err = values(f, name); err != nil {
			return err
		}
	}
	return s.describe(d)
}

// describeByTable takes classes, and optionally names, parts and super-classes, from a
// table with a line for each row: label, path, split, category, group, is_query,
// is_gallery.
func (s *Set) describeByTable(file string) error {
	text, err := table.ReadFile(file)
	if err != nil {
		return err
	}
	t, err := table.Read(text, table.Options{Need: []string{"label"}})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	column := func(name string) []string {
		at := slices.IndexFunc(t.Names, func(c string) bool { return strings.EqualFold(c, name) })
		if at < 0 {
			return nil
		}
		list := make([]string, len(t.Rows))
		for i, row := range t.Rows {
			list[i] = row[at]
		}
		return list
	}
	d := description{file: file, labels: column("label"), paths: column("path"), parts: column("split"), super: column("category"),
		groups: column("group"), query: column("is_query"), gallery: column("is_gallery")}
	if d.labels == nil {
		return fmt.Errorf("%s line %d: there is no column label", file, t.HeaderLine)
	}
	return s.describe(d)
}

// description is what is known of rows: one text for each, or nil.
type description struct {
	file                        string
	labels, paths, parts, super []string
	groups, query, gallery      []string
}

// describe gives what is known to the items.
func (s *Set) describe(d description) error {
	for name, list := range map[string][]string{"labels": d.labels, "paths": d.paths, "splits": d.parts, "categories": d.super, "groups": d.groups, "values of is_query": d.query, "values of is_gallery": d.gallery} {
		if list != nil && len(list) != len(s.Items) {
			return fmt.Errorf("%s: %d %s for %s", d.file, len(list), name, plural.Of(len(s.Items), "row"))
		}
	}
	for i, p := range d.paths {
		if p != "" {
			s.Items[i].Path = nametext.Valid(p)
		}
	}
	if d.labels == nil {
		return nil
	}
	for i, p := range d.parts {
		part, ok := map[string]Part{"train": TrainPart, "validation": ValidationPart, "val": ValidationPart, "test": TestPart}[p]
		if !ok {
			return fmt.Errorf("%s: the split of row %d is %q, want train, validation or test", d.file, i, p)
		}
		s.Items[i].Part = part
	}
	if i := slices.Index(d.labels, ""); i >= 0 {
		return fmt.Errorf("%s: the label of row %d is empty", d.file, i)
	}
	if err := s.describeSides(d); err != nil {
		return err
	}
	s.classify(d.labels, nil)
	if d.parts != nil {
		s.settleValidation()
	}
	if d.super != nil {
		super := map[string]string{}
		for i, l := range d.labels {
			super[l] = d.super[i]
		}
		s.superClasses(func(class string) string { return super[class] }, func(it Item) string { return super[s.Classes[it.Label]] })
	}
	return nil
}

// describeSides gives items their groups, and their sides of a search, as a csv: table has
// them.
func (s *Set) describeSides(d description) error {
	numbers := groupNumbers{}
	for i, g := range d.groups {
		s.Items[i].Group = numbers.of(g)
	}
	for i := range s.Items {
		query, err := sideFlag("is_query", d.query, i)
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", d.file, i, err)
		}
		gallery, err := sideFlag("is_gallery", d.gallery, i)
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", d.file, i, err)
		}
		s.Items[i].Role = roleOf(s.Items[i].Part, query, gallery)
	}
	return nil
}

func sideFlag(name string, list []string, i int) (bool, error) {
	if list == nil {
		return false, nil
	}
	return parseFlag(name, list[i])
}

// featureStore reads rows when they are asked for.
type featureStore struct{ file *features.File }

func (s *featureStore) name(it Item) string { return s.file.Path() + "!" + it.Path }
func (s *featureStore) width() int          { return s.file.Width() }
func (s *featureStore) close() error        { return s.file.Close() }
func (s *featureStore) version() string {
	return fmt.Sprintf("%d of %d %v", s.file.Rows(), s.file.Width(), s.file.DType())
}

func (s *featureStore) row(dst []float32, it Item) error {
	if err := s.file.Read(dst, it.index); err != nil {
		return err
	}
	for j, v := range dst {
		if v-v != 0 { // of NaN and infinities only
			return fmt.Errorf("number %d of the row is %v", j, v)
		}
	}
	return nil
}

func (s *featureStore) content(it Item) ([]byte, error)                  { return rowContent(s, it) }
func (s *featureStore) image(context.Context, Item) (*pixels.RGB, error) { return nil, errIsRow }
