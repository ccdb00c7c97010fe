package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/table"
	"github.com/vernier-ml/vernier/weights"
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

func (s *joinedRows) name(it Item) string { return s.parts[it.origin].name(it) }
func (s *joinedRows) width() int          { return s.parts[0].width() }
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
	switch end := strings.ToLower(filepath.Ext(rows)); end {
	case ".npy", ".npz", ".safetensors":
	default:
		return nil, fmt.Errorf("%s: rows of features are read from .npy, .npz and .safetensors", rows)
	}
	f, err := weights.Open(rows)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, n, err := newFeatureStore(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rows, err)
	}
	set := &Set{Items: numbered(n), store: s}
	if err := set.describeRows(f, labels, classes); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return set, nil
}

// describeRows gives items their classes, paths and parts.
func (s *Set) describeRows(f *weights.File, labels string, classes bool) error {
	if paths, err := f.Tensor("paths"); err == nil {
		list, err := paths.Strings()
		if err == nil && len(list) == len(s.Items) {
			for i, p := range list {
				s.Items[i].Path = nametext.Valid(p)
			}
		}
	}
	switch {
	case !classes:
		s.Classes = []string{""}
		return nil
	case labels == "":
		t, err := f.Tensor("classes")
		if err != nil {
			t, err = f.Tensor("labels")
		}
		if err != nil {
			return fmt.Errorf("%s holds no labels: name a file of them, as in features:%s%sy.npy", f.Path(), f.Path(), labelsOption)
		}
		return s.label(f.Path(), t)
	case slices.Contains([]string{".csv", ".tsv", ".txt"}, strings.ToLower(filepath.Ext(labels))):
		return s.describeByTable(labels)
	}
	lf, err := weights.Open(labels)
	if err != nil {
		return err
	}
	defer lf.Close()
	if all := lf.Tensors(); len(all) == 1 {
		return s.label(labels, all[0])
	}
	t, err := lf.Tensor("labels")
	if err != nil {
		return err
	}
	return s.label(labels, t)
}

// label takes classes from an array of whole numbers or text.
func (s *Set) label(file string, t *weights.Tensor) error {
	if t.Len() != len(s.Items) {
		return fmt.Errorf("%s: %s of shape %v for %s", file, plural.Of(t.Len(), "label"), t.Shape, plural.Of(len(s.Items), "row"))
	}
	keys, err := t.Strings()
	if err != nil {
		x, wrong := t.Float32()
		if wrong != nil {
			return fmt.Errorf("%s: %w", file, wrong)
		}
		keys = make([]string, len(x))
		names := map[float32]string{}
		for i, v := range x {
			if v != float32(int64(v)) || v > 1<<24 || v < -1<<24 {
				return fmt.Errorf("%s: label %d is %v, want whole numbers up to %d, or text", file, i, v, 1<<24)
			}
			if names[v] == "" {
				names[v] = fmt.Sprintf("%.0f", v)
			}
			keys[i] = names[v]
		}
	}
	for i, k := range keys {
		if k == "" {
			return fmt.Errorf("%s: label %d is empty", file, i)
		}
	}
	s.classify(keys, nil)
	return nil
}

// describeByTable takes classes, and optionally names, parts and super-classes, from a
// table with a line for each row: label, path, split, category.
func (s *Set) describeByTable(file string) error {
	text, err := table.ReadFile(file)
	if err != nil {
		return err
	}
	t, err := table.Read(text, table.Options{Need: []string{"label"}})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(t.Rows) != len(s.Items) {
		return fmt.Errorf("%s: %s for %s", file, plural.Of(len(t.Rows), "line"), plural.Of(len(s.Items), "row"))
	}
	column := func(name string) int {
		return slices.IndexFunc(t.Names, func(c string) bool { return strings.EqualFold(c, name) })
	}
	label, path, split, category := column("label"), column("path"), column("split"), column("category")
	if label < 0 {
		return fmt.Errorf("%s line %d: there is no column label", file, t.HeaderLine)
	}
	keys, super := make([]string, len(t.Rows)), map[string]string{}
	for i, row := range t.Rows {
		if keys[i] = row[label]; keys[i] == "" {
			return fmt.Errorf("%s line %d: the label is empty", file, t.Lines[i])
		}
		if path >= 0 && row[path] != "" {
			s.Items[i].Path = nametext.Valid(row[path])
		}
		if category >= 0 {
			super[keys[i]] = row[category]
		}
		if split < 0 {
			continue
		}
		switch row[split] {
		case "train":
			s.Items[i].Part = TrainPart
		case "validation", "val":
			s.Items[i].Part = ValidationPart
		case "test":
			s.Items[i].Part = TestPart
		default:
			return fmt.Errorf("%s line %d: split %q, want train, validation or test", file, t.Lines[i], row[split])
		}
	}
	s.classify(keys, nil)
	if split >= 0 {
		s.settleValidation()
	}
	if category >= 0 {
		s.superClasses(func(class string) string { return super[class] }, func(it Item) string { return super[s.Classes[it.Label]] })
	}
	return nil
}

// featureStore reads rows from a file when they are asked for, or where they lie there
// in another order, or compressed, from memory.
type featureStore struct {
	path  string
	file  *os.File
	off   int64
	dtype weights.DType
	dim   int
	size  int64 // of the file
	held  []float32
	bytes sync.Pool // of *[]byte, for a row
}

// newFeatureStore finds the rows of a file: the array called embeddings or features, or
// its only one of two axes.
func newFeatureStore(f *weights.File) (_ *featureStore, rows int, err error) {
	var found *weights.Tensor
	for _, t := range f.Tensors() {
		if len(t.Shape) != 2 {
			continue
		}
		if t.Name == "embeddings" || t.Name == "features" {
			found = t
			break
		}
		if found != nil {
			return nil, 0, fmt.Errorf("it has several arrays of two axes, %q and %q among them; the rows are to be called embeddings or features", found.Name, t.Name)
		}
		found = t
	}
	if found == nil {
		return nil, 0, errors.New("it has no array of two axes, (rows, numbers)")
	}
	rows = found.Shape[0]
	s := &featureStore{path: f.Path(), dtype: found.DType, dim: found.Shape[1], size: f.Size()}
	if rows < 1 || s.dim < 1 {
		return nil, 0, fmt.Errorf("%d rows of %d numbers", rows, s.dim)
	}
	off, _, ok, err := found.Extent()
	if err != nil {
		return nil, 0, err
	}
	if !ok {
		s.held, err = found.Float32()
		return s, rows, err
	}
	width := s.dim * s.dtype.Bits() / 8
	if err := weights.Decode(nil, nil, s.dtype); err != nil {
		return nil, 0, err
	}
	s.off = off
	s.bytes.New = func() any { b := make([]byte, width); return &b }
	s.file, err = os.Open(f.Path())
	return s, rows, err
}

func (s *featureStore) name(it Item) string { return s.path + "!" + it.Path }
func (s *featureStore) width() int          { return s.dim }
func (s *featureStore) version() string     { return fmt.Sprintf("%d of %d", s.dim, s.size) }

func (s *featureStore) row(dst []float32, it Item) error {
	if s.held != nil {
		copy(dst, s.held[it.index*s.dim:(it.index+1)*s.dim])
	} else {
		b := s.bytes.Get().(*[]byte)
		defer s.bytes.Put(b)
		if _, err := s.file.ReadAt(*b, s.off+int64(it.index)*int64(len(*b))); err != nil {
			return err
		}
		if err := weights.Decode(dst, *b, s.dtype); err != nil {
			return err
		}
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

func (s *featureStore) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
