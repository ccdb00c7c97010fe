// Package probing has the flags of eval and report for probes of frozen embeddings (package
// eval/probe), and prints what these find.
package probing

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/probe"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Names lists the flags, for commands that say which others go with one.
var Names = []string{"knn", "probe", "bank-share"}

// Flags are those of probes.
type Flags struct {
	ks     string
	linear bool
	share  float64
}

// Add adds the flags.
func (f *Flags) Add(fl *pflag.FlagSet) {
	fl.StringVar(&f.ks, "knn", "", "also classify each query by the votes of its `K,K,...` nearest images of the bank, plain and weighted; 1,20 is usual")
	fl.BoolVar(&f.linear, "probe", false, "also fit a linear classifier to the embeddings of the bank, and measure it on the queries")
	fl.Float64Var(&f.share, "bank-share", 0.5, "share of the images of every class that are the bank of --knn and --probe; the others are the queries")
}

// Options returns what the flags ask for, nil for nothing. ks reads numbers of neighbors.
func (f *Flags) Options(fl *pflag.FlagSet, ks func(text string) ([]int, error)) (*probe.Options, error) {
	asked := f.linear || fl.Changed("knn")
	switch {
	case !asked && fl.Changed("bank-share"):
		return nil, cli.Usagef("--bank-share needs --knn or --probe")
	case !(f.share > 0 && f.share < 1):
		return nil, cli.Usagef("--bank-share is %v, want more than 0 and less than 1", f.share)
	case !asked:
		return nil, nil
	}
	o := &probe.Options{Linear: f.linear, Share: f.share}
	if fl.Changed("knn") {
		var err error
		if o.Ks, err = ks(f.ks); err != nil {
			return nil, cli.Usagef("--knn: %w", err)
		}
	}
	return o, nil
}

// Row is a line of the table.
type Row struct {
	Name    string
	Figures *eval.Figures
}

// Print writes a table of the rows that have been probed, if there are any.
func Print(w io.Writer, rows []Row) error {
	var first *eval.ProbeFigures
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		if r.Figures == nil || r.Figures.Probe == nil {
			continue
		}
		f := r.Figures.Probe
		if first == nil {
			first = f
			fmt.Fprintf(w, "\nFrozen embeddings, a bank of %s of %s, %s:\n\n", plural.Of(f.Bank, "row"), plural.Of(f.Classes, "class"), plural.Of(f.Queries, "query"))
			fmt.Fprint(t, "\t")
			for _, v := range f.Votes {
				fmt.Fprintf(t, "%d-NN\tweighted\t", v.K)
			}
			if f.Linear != nil {
				fmt.Fprint(t, "linear\t")
			}
			fmt.Fprintln(t, "alignment\tuniformity\t")
		}
		fmt.Fprintf(t, "%s\t", r.Name)
		for _, v := range f.Votes {
			fmt.Fprintf(t, "%.1f\t%.1f\t", v.Percent, v.Weighted)
		}
		if l := f.Linear; l != nil {
			fmt.Fprintf(t, "%.1f\t", l.Percent)
		}
		alignment := "-"
		if f.Alignment != nil {
			alignment = fmt.Sprintf("%.3f", *f.Alignment)
		}
		fmt.Fprintf(t, "%s\t%.3f\t\n", alignment, f.Uniformity)
	}
	return t.Flush()
}
