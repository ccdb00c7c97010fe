package rowfiles

import (
	"context"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/features"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// Open reads the files that the flags name, each with its metric: that of the flag by if
// it was given, else what the file states, else what the flag is without being given. warn
// receives what the user should look into.
func (f *Flags) Open(by *pflag.Flag, warn func(format string, args ...any)) ([]*run.RowSet, error) {
	var sets []*run.RowSet
	for i, name := range list(f.Embeddings) {
		q, err := f.read(name, f.Labels, f.Groups, "--labels")
		if err != nil {
			return nil, err
		}
		var g *file
		if f.Gallery != "" {
			if g, err = f.read(list(f.Gallery)[i], f.GalleryLabels, f.GalleryGroups, "--gallery-labels"); err != nil {
				return nil, err
			}
		}
		s, err := f.join(q, g, by, warn)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

func (f *Flags) read(name, labels, groups, flag string) (*file, error) {
	r, err := read(name, labels, groups, flag, f.Unlabeled)
	if err != nil || f.Junk == "" {
		return r, err
	}
	if r.without(f.Junk); r.rows.N == 0 {
		return nil, fmt.Errorf("%s: every row has the label %s, which --junk leaves out", name, f.Junk)
	}
	return r, nil
}

// join makes a set of queries and a gallery, which may be nil.
func (f *Flags) join(q, g *file, by *pflag.Flag, warn func(string, ...any)) (*run.RowSet, error) {
	m, err := q.compareBy(by)
	if err != nil {
		return nil, err
	}
	if q.embedded && q.metric == "" && !by.Changed {
		warn("%s does not say how its rows are to be compared, and %v is taken: --metric names the metric of their model; .npz, .parquet and .safetensors by vernier embed state it", q.name, m)
	}
	sides := []*file{q}
	if g != nil {
		sides = append(sides, g)
	}
	column := func(of func(*file) *features.Column) (list []*features.Column) {
		for _, s := range sides {
			if c := of(s); c != nil {
				list = append(list, c)
			}
		}
		return list
	}
	var classes []string
	if q.labels != nil { // and so has the gallery
		var labels [][]int
		classes, labels = number(column(func(s *file) *features.Column { return s.labels })...)
		for i, s := range sides {
			s.rows.Labels = labels[i]
		}
	}
	var groups *eval.Groups
	if q.groups != nil {
		_, of := number(column(func(s *file) *features.Column { return s.groups })...)
		groups = &eval.Groups{Queries: of[0], Gallery: of[len(of)-1]}
	}
	var gallery *eval.Embeddings
	if g != nil {
		gallery = g.rows
	}
	set := run.NewRowSet(q.name, m, classes, q.rows, gallery, groups)
	var super []string
	if f.SuperClasses != "" {
		table, err := data.ReadSuperClasses(f.SuperClasses)
		if err != nil {
			return nil, cli.Usagef("--super-classes: %w", err)
		}
		super, err = table.Of(q.name, classes)
		if err != nil {
			return nil, err
		}
	} else if super, err = superOf(sides, len(classes)); err != nil {
		return nil, err
	}
	if super != nil {
		set.Super = func(label int) string { return super[label] }
	}
	set.Path, set.Picture = pictures(sides)
	return set, nil
}

// superOf lists the super-class of every class by the columns of sides; nil where one has
// none.
func superOf(sides []*file, classes int) ([]string, error) {
	super := make([]string, classes)
	for _, s := range sides {
		if s.super == nil || s.labels == nil {
			return nil, nil
		}
		for i, label := range s.rows.Labels {
			switch of := s.super.Text(i); {
			case super[label] == "":
				super[label] = of
			case super[label] != of:
				return nil, fmt.Errorf("%s: rows of class %q are of the super-classes %q and %q", s.name, s.labels.Text(i), super[label], of)
			}
		}
	}
	return super, nil
}

// pictures returns the name and the picture of a row of sides, which follow each other.
func pictures(sides []*file) (path func(row int) string, picture func(context.Context, int) (image.Image, error)) {
	at := func(row int) (*file, int) {
		for _, s := range sides[:len(sides)-1] {
			if row < s.rows.N {
				return s, row
			}
			row -= s.rows.N
		}
		return sides[len(sides)-1], row
	}
	path = func(row int) string {
		s, i := at(row)
		if s.paths == nil {
			return fmt.Sprintf("row %d of %s", i, filepath.Base(s.name))
		}
		return nametext.Valid(s.paths.Text(i))
	}
	return path, func(ctx context.Context, row int) (image.Image, error) {
		s, i := at(row)
		if s.paths == nil {
			return nil, nil
		}
		for _, place := range places(s.folder, s.paths.Text(i)) {
			if info, err := os.Stat(place); err != nil || !info.Mode().IsRegular() {
				continue
			}
			set, err := data.OpenImages(ctx, []string{place}, data.Options{})
			if err != nil {
				return nil, err
			}
			defer set.Close()
			img, err := set.Load(ctx, 0)
			if err != nil {
				return nil, err
			}
			return img, nil
		}
		return nil, nil
	}
}

// places are where a file may lie that a column of paths names: as it is written, which
// is relative to the folder of the column's file, or to the working directory.
func places(folder, path string) []string {
	path = home.Expand(filepath.FromSlash(nametext.Decode(path)))
	if filepath.IsAbs(path) {
		return []string{path}
	}
	return []string{filepath.Join(folder, path), path}
}

// compareBy is the metric of rows.
func (r *file) compareBy(flag *pflag.Flag) (metric.Metric, error) {
	if flag.Changed || r.metric == "" {
		m, err := metric.Parse(flag.Value.String())
		if err != nil {
			err = cli.Usagef("--metric: %w", err)
		}
		return m, err
	}
	m, err := metric.Parse(r.metric)
	if err != nil {
		err = fmt.Errorf("%s states the metric %q: %w; give --metric", r.name, r.metric, err)
	}
	return m, err
}

// number gives every distinct value of columns a number, the same in all of them.
func number(columns ...*features.Column) (names []string, of [][]int) {
	all := &features.Column{}
	numbers := !slices.ContainsFunc(columns, func(c *features.Column) bool { return c.Texts != nil })
	for _, c := range columns {
		if numbers {
			all.Ints = append(all.Ints, c.Ints...)
			continue
		}
		for i := range c.Len() {
			all.Texts = append(all.Texts, c.Text(i))
		}
	}
	names, each := all.Classes()
	for _, c := range columns {
		of, each = append(of, each[:c.Len():c.Len()]), each[c.Len():]
	}
	return names, of
}
