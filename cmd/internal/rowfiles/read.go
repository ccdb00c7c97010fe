package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data/features"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// rowFlags name files of embeddings by other programs; eval and verify share them.
type rowFlags struct {
	embeddings, labels string
}

func (f *rowFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.embeddings, "embeddings", "", "`FILE` of embeddings that another program made, in place of a RUN: .npy, .npz, .safetensors, .pt, .parquet, .csv; FILE:NAME chooses one of several arrays")
	fl.StringVar(&f.labels, "labels", "", "`FILE` with a label for each row of --embeddings: .npy, .npz, .parquet, .csv, or .txt with one a line; FILE:NAME chooses a column (default the labels in --embeddings)")
}

// only refuses flags that are changed and not among those that --embeddings goes with.
func (f *rowFlags) only(cmd *cobra.Command, args []string, with ...string) error {
	if len(args) > 0 {
		return cli.Usagef("%q and --embeddings: give a RUN or embeddings, not both", args[0])
	}
	var wrong error
	cmd.Flags().VisitAll(func(fl *pflag.Flag) {
		if fl.Changed && wrong == nil && !slices.Contains(with, fl.Name) && cmd.InheritedFlags().Lookup(fl.Name) == nil {
			wrong = cli.Usagef("--%s cannot be given with --embeddings", fl.Name)
		}
	})
	return wrong
}

// rowFile is a file of rows that was read, with a value a row.
type rowFile struct {
	name   string
	metric string // that the file states, "" for none
	rows   *eval.Embeddings
	labels *features.Column
	groups *features.Column // or nil
}

// readRows reads a file of embeddings, which must be finite, with its labels and, if
// groups names any, its groups. flag is that which names the labels.
func readRows(name, labels, groups, flag string) (*rowFile, error) {
	f, err := features.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.CheckFinite(); err != nil {
		return nil, err
	}
	r := &rowFile{name: name, metric: f.Metric(), rows: &eval.Embeddings{N: f.Rows(), H: f.Width()}}
	if r.rows.X, err = f.All(); err != nil {
		return nil, err
	}
	r.labels, err = columnFor(f, labels)
	if err == nil && r.labels == nil {
		if r.labels, err = f.LabelColumn(); err == nil && r.labels == nil {
			err = cli.Usagef("%s holds no labels: name a file of them with %s, one label for each of its %d rows", name, flag, f.Rows())
		}
	}
	if err == nil {
		r.groups, err = columnFor(f, groups)
	}
	return r, err
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
		err = fmt.Errorf("%s has %d values, %s has %d rows: want one value a row, in the same order", name, c.Len(), f.Path(), f.Rows())
	}
	return c, err
}

// compareBy is the metric of rows: that of the flag --metric if it was given, else what
// the file states, else what the flag is without being given.
func (r *rowFile) compareBy(flag *pflag.Flag) (metric.Metric, error) {
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

// fileList splits names at commas.
func fileList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
