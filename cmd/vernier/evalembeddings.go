package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/probing"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

const embeddingsHelp = `--embeddings measures rows that another program made, without a model, by --metric:
any of Vernier's metrics (default that which a file by vernier embed or export states,
else cosine). Labels are whole numbers or texts, in a file of their own
(--labels) or in that of the rows, under the name class, label, target or y. Several
files of the same rows, separated by commas, are put beside each other: with the
difference of each to the first, its 95% interval (a bootstrap over classes) and a
paired t-test over the means of classes. --gallery searches other rows than the
queries themselves. --groups leaves rows of the query's class and group out of its
ranking, as re-identification does with images of the same camera, and adds the MAP
of Market-1501's code, which takes the area below the curve by trapezoids.
`

// withEmbeddings are the other flags of eval that --embeddings goes with.
var withEmbeddings = []string{"seed", "json", "k", "ties", "rerank", "knn", "probe", "bank-share", "restarts", "center", "per-class", "super-classes", "device", "precision", "deterministic", "threads", "timeout"}

// measureRows measures files of embeddings.
func (f *evalFlags) measureRows(cmd *cobra.Command, log *logrus.Logger, opt run.MeasureOptions) error {
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	opt.Events, opt.Comm = newReporter(log), f.sel.Comm
	f.rows.SuperClasses = f.group.superClasses
	sets, err := f.rows.Open(cmd.Flags().Lookup("metric"), log.Warnf)
	if err != nil {
		return err
	}
	m, err := run.MeasureRows(cmd.Context(), eng, sets, f.seed, opt)
	if err != nil {
		return err
	}
	if f.sel.Comm.Rank() > 0 {
		return nil
	}
	first := m.Embeddings[0]
	others := first.Model.Queries - 1
	if first.Model.Gallery > 0 {
		others = first.Model.Gallery
	}
	warnLargeK(log, "--k", opt.Ks, others, "a row has %s")
	if err := f.group.write(first, log); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if f.asJSON {
		if len(m.Embeddings) == 1 {
			return cli.WriteJSON(w, first)
		}
		return cli.WriteJSON(w, m)
	}
	if err := printRows(w, m); err != nil {
		return err
	}
	return f.group.print(w, first.Model)
}

// printRows writes a table a person can read.
func printRows(w io.Writer, m *run.RowFigures) error {
	f := m.Embeddings[0].Model
	searched := ""
	if f.Gallery > 0 {
		searched = fmt.Sprintf(" in a gallery of %s", plural.Of(f.Gallery, "row"))
	}
	by := "by " + f.Distance
	for _, r := range m.Embeddings[1:] {
		if r.Model.Distance != f.Distance {
			by += " and " + r.Model.Distance
		}
	}
	fmt.Fprintf(w, "%s%s of %s, %s\n\n", plural.Of(f.Queries, "query"), searched, plural.Of(f.Classes, "class"), by)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range f.Recall {
		fmt.Fprintf(t, "R@%d\t", k.K)
	}
	if fmt.Fprint(t, "MAP@R\tMAP\t"); f.TrapezoidMAP != nil {
		fmt.Fprint(t, "trapezoid\t")
	}
	fmt.Fprintf(t, "NMI\tF1\tnumbers\tR@%d, 95%%\t\n", f.Recall[0].K)
	for _, r := range m.Embeddings {
		f := r.Model
		fmt.Fprintf(t, "%s\t", r.Data)
		for _, k := range f.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%.1f\t%.1f\t", 100*f.MAPAtR, 100*f.MAP)
		if f.TrapezoidMAP != nil {
			fmt.Fprintf(t, "%.1f\t", 100**f.TrapezoidMAP)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%.1f to %.1f\t\n", share(f.NMI), share(f.F1), f.Dimension, f.Intervals[0].Low, f.Intervals[0].High)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range m.Embeddings {
		if err := printReranked(w, r.Data, r.Model); err != nil {
			return err
		}
	}
	var probed []probing.Row
	for _, r := range m.Embeddings {
		probed = append(probed, probing.Row{Name: r.Data, Figures: r.Model})
	}
	if err := probing.Print(w, probed); err != nil {
		return err
	}
	if len(m.Differences) > 0 {
		fmt.Fprintf(w, "\nless %s, paired by query:\n\n", m.Embeddings[0].Data)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "\tR@1\t95%\tp\tMAP@R\t95%\tp\t")
		for _, d := range m.Differences {
			a, b := d.RecallAt1, d.MAPAtR
			fmt.Fprintf(t, "%s\t%+.1f\t%+.1f to %+.1f\t%.2g\t%+.1f\t%+.1f to %+.1f\t%.2g\t\n", d.Embeddings, a.Mean, a.Low, a.High, a.P, 100*b.Mean, 100*b.Low, 100*b.High, b.P)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nRecall@K, MAP@R and MAP in percent; ties %s", f.Ties)
	if c := f.Clustering; c != nil {
		fmt.Fprintf(w, "; NMI and F1 from %s of k-means with %s, center %s", plural.Of(c.Restarts, "run"), plural.Of(c.Clusters, "cluster"), c.Center)
	}
	if f.LoneQueries > 0 {
		fmt.Fprintf(w, "; %s without a right answer: misses", plural.Of(f.LoneQueries, "query"))
	}
	_, err := fmt.Fprintln(w)
	return err
}
