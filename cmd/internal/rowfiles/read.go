package rowfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data/features"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
)

// file is a file of rows that was read, with a value a row.
type file struct {
	name                 string
	metric               string // that the file states, "" for none
	rows                 *eval.Embeddings
	labels               *features.Column
	groups, paths, super *features.Column // or nil
	folder               string           // of the paths
	// embedded says that the file is probably by vernier embed: a .npy of it does not say
	// its metric.
	embedded bool
}

// read reads a file of embeddings, which must be finite, with its labels and what else is
// known of rows. flag is that which names the labels; unlabeled rows may have none.
func read(name, labels, groups, flag string, unlabeled bool) (*file, error) {
	f, err := features.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.CheckFinite(); err != nil {
		return nil, err
	}
	r := &file{name: name, metric: f.Metric(), rows: &eval.Embeddings{N: f.Rows(), H: f.Width()}, folder: filepath.Dir(f.Path())}
	if r.rows.X, err = f.All(); err != nil {
		return nil, err
	}
	r.labels, err = columnFor(f, labels)
	if err == nil && r.labels == nil {
		if r.labels, err = f.LabelColumn(); err == nil && r.labels == nil && !unlabeled {
			err = cli.Usagef("%s holds no labels: name a file of them with %s, one label for each of its %d rows", name, flag, f.Rows())
		}
	}
	if err == nil {
		r.groups, err = columnFor(f, groups)
	}
	if err == nil {
		err = r.describe(f, labels)
	}
	return r, err
}

// describe reads paths and super-classes: columns of the file of rows or of that of the
// labels, or the paths that vernier embed writes beside it.
func (r *file) describe(f *features.File, labels string) (err error) {
	find := func(names ...string) (c *features.Column, folder string, err error) {
		for _, n := range names {
			if slices.Contains(f.Columns(), n) {
				c, err = f.Column(n)
				return c, filepath.Dir(f.Path()), err
			}
		}
		if labels == "" || slices.Contains(f.Columns(), labels) {
			return nil, "", nil
		}
		if c, err = features.FindColumn(labels, names...); err == nil && c != nil && c.Len() != f.Rows() {
			err = fmt.Errorf("%s has %d values in its column %s, %s has %d rows", labels, c.Len(), names[0], f.Path(), f.Rows())
		}
		return c, filepath.Dir(labels), err
	}
	if r.super, _, err = find("category", "super_class"); err != nil {
		return err
	}
	var folder string
	if r.paths, folder, err = find("path", "paths"); err != nil {
		return err
	}
	if r.paths != nil {
		r.folder = folder
		return nil
	}
	beside := strings.TrimSuffix(f.Path(), filepath.Ext(f.Path())) + ".paths.npy"
	if _, err := os.Stat(beside); err != nil {
		return nil
	}
	r.embedded = true
	if r.paths, err = features.ReadColumn(beside); err == nil && r.paths.Len() != f.Rows() {
		err = fmt.Errorf("%s has %d paths, %s has %d rows", beside, r.paths.Len(), f.Path(), f.Rows())
	}
	return err
}

// without leaves out the rows of a label.
func (r *file) without(label string) {
	if r.labels == nil {
		return
	}
	var keep []int
	for i := range r.labels.Len() {
		if r.labels.Text(i) != label {
			keep = append(keep, i)
		}
	}
	if len(keep) == r.labels.Len() {
		return
	}
	r.rows = r.rows.Select(keep)
	for _, c := range []**features.Column{&r.labels, &r.groups, &r.paths, &r.super} {
		if *c == nil {
			continue
		}
		part := &features.Column{}
		for _, i := range keep {
			if (*c).Texts != nil {
				part.Texts = append(part.Texts, (*c).Texts[i])
			} else {
				part.Ints = append(part.Ints, (*c).Ints[i])
			}
		}
		*c = part
	}
}

// columnFor reads a column: a file of its own, or one of the file of rows by its name.
func columnFor(f *features.File, name string) (*features.Column, error) {
	if name == "" {
		return nil, nil
	}
	if slices.Contains(f.Columns(), name) {
		return f.Column(name)
	}
	c, err := features.ReadColumn(name)
	if err == nil && c.Len() != f.Rows() {
		err = fmt.Errorf("%s has %s, %s has %s: want one value a row, in the same order", name, plural.Of(c.Len(), "value"), f.Path(), plural.Of(f.Rows(), "row"))
	}
	return c, err
}

// list splits names at commas.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
