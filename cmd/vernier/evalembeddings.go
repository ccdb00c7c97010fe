package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
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

// embeddingFlags ask eval for figures of embeddings without a model.
type embeddingFlags struct {
	rowFlags
	gallery, galleryLabels string
	groups, galleryGroups  string
}

func (f *embeddingFlags) add(fl *pflag.FlagSet) {
	f.rowFlags.add(fl)
	fl.Lookup("embeddings").Usage = "`FILE` of embeddings that another program made, in place of a RUN: .npy, .npz, .safetensors, .pt, .parquet, .csv; FILE:NAME chooses one of several arrays; several files, separated by commas, are compared"
	fl.StringVar(&f.gallery, "gallery", "", "`FILE` of the rows in which those of --embeddings are looked for (default those of --embeddings); of several --embeddings, one for each")
	fl.StringVar(&f.galleryLabels, "gallery-labels", "", "`FILE` with a label for each row of --gallery (default the labels in it)")
	fl.StringVar(&f.groups, "groups", "", "`FILE` or column with a group for each row of --embeddings: those of a query's class and group are left out of its ranking")
	fl.StringVar(&f.galleryGroups, "gallery-groups", "", "`FILE` or column with a group for each row of --gallery")
}

// withEmbeddings are the other flags of eval that --embeddings goes with.
var withEmbeddings = []string{"embeddings", "labels", "gallery", "gallery-labels", "groups", "gallery-groups", "metric", "seed",
	"json", "k", "ties", "restarts", "center", "per-class", "device", "precision", "deterministic", "threads"}

// check finds flags that do not go together.
func (f *embeddingFlags) check(cmd *cobra.Command, args []string) error {
	if f.embeddings == "" {
		for _, name := range []string{"labels", "gallery", "gallery-labels", "groups", "gallery-groups"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s needs --embeddings", name)
			}
		}
		return nil
	}
	if err := f.only(cmd, args, withEmbeddings...); err != nil {
		return err
	}
	switch {
	case f.gallery == "" && (f.galleryLabels != "" || f.galleryGroups != ""):
		return cli.Usagef("--gallery-labels and --gallery-groups need --gallery")
	case f.gallery != "" && (f.groups == "") != (f.galleryGroups == ""):
		return cli.Usagef("--groups and --gallery-groups: with --gallery both or none")
	case f.gallery != "" && len(fileList(f.gallery)) != len(fileList(f.embeddings)):
		return cli.Usagef("--gallery names %s, --embeddings %d: name one gallery for each file of embeddings", plural.Of(len(fileList(f.gallery)), "file"), len(fileList(f.embeddings)))
	}
	return nil
}

// measuredRows are the figures of files of embeddings beside each other.
type measuredRows struct {
	Embeddings  []*run.Results   `json:"embeddings"`
	Differences []rowsDifference `json:"differences"`
	ranks       []*eval.Retrieval
}

// rowsDifference is what one file has more than the first.
type rowsDifference struct {
	Embeddings string          `json:"embeddings"`
	Baseline   string          `json:"baseline"`
	RecallAt1  eval.Difference `json:"recall@1"` // in points of percent
	MAPAtR     eval.Difference `json:"map@r"`
}

// measureRows measures files of embeddings.
func (f *evalFlags) measureRows(cmd *cobra.Command, log *logrus.Logger, opt run.MeasureOptions) error {
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	opt.Events = newReporter(log)
	m := &measuredRows{}
	for i, name := range fileList(f.rows.embeddings) {
		if err := f.measureFile(cmd, eng, m, i, name, opt); err != nil {
			return err
		}
	}
	first := m.Embeddings[0]
	others := first.Model.Queries - 1
	if first.Model.Gallery > 0 {
		others = first.Model.Gallery
	}
	warnLargeK(log, "--k", opt.Ks, others, "a row has %s")
	for i, r := range m.Embeddings[1:] {
		d := rowsDifference{Embeddings: r.Data, Baseline: first.Data}
		boot := eval.BootstrapOptions{Seed: f.seed}
		if d.RecallAt1, err = eval.CompareRecall(m.ranks[i+1], m.ranks[0], 1, boot); err == nil {
			d.MAPAtR, err = eval.CompareMAPAtR(m.ranks[i+1], m.ranks[0], boot)
		}
		if err != nil {
			return fmt.Errorf("%s beside %s: %w", r.Data, first.Data, err)
		}
		m.Differences = append(m.Differences, d)
	}
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
	if err := m.print(w); err != nil {
		return err
	}
	return f.group.print(w, first.Model)
}

// measureFile measures file i of --embeddings.
func (f *evalFlags) measureFile(cmd *cobra.Command, eng engine.Engine, m *measuredRows, i int, name string, opt run.MeasureOptions) error {
	q, err := readRows(name, f.rows.labels, f.rows.groups, "--labels")
	if err != nil {
		return err
	}
	by, err := q.compareBy(cmd.Flags().Lookup("metric"))
	if err != nil {
		return err
	}
	o := eval.Options{
		Ks: opt.Ks, Restarts: opt.Restarts, Center: opt.Center, Ties: opt.Ties, Seed: f.seed, Split: "all rows", PerClass: opt.PerClass,
		Ranks: func(r *eval.Retrieval) { m.ranks = append(m.ranks, r) },
		Progress: func(stage string, done, total int) {
			opt.Events.Progress(filepath.Base(name)+": "+stage, done, total, "")
		},
	}
	var classes []string
	if f.rows.gallery == "" {
		var of [][]int
		classes, of = number(q.labels)
		q.rows.Labels = of[0]
		if q.groups != nil {
			_, of := number(q.groups)
			o.Groups = &eval.Groups{Queries: of[0], Gallery: of[0]}
		}
	} else {
		g, err := readRows(fileList(f.rows.gallery)[i], f.rows.galleryLabels, f.rows.galleryGroups, "--gallery-labels")
		if err != nil {
			return err
		}
		var of [][]int
		classes, of = number(q.labels, g.labels)
		q.rows.Labels, g.rows.Labels = of[0], of[1]
		if q.groups != nil {
			_, of := number(q.groups, g.groups)
			o.Groups = &eval.Groups{Queries: of[0], Gallery: of[1]}
		}
		o.Gallery = g.rows
	}
	o.ClassName = func(label int) string { return classes[label] }
	r := &run.Results{Data: name, Engine: eng.Info()}
	if r.Model, err = eval.Evaluate(cmd.Context(), eng, q.rows, by, o); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m.Embeddings = append(m.Embeddings, r)
	return nil
}

// print writes a table a person can read.
func (m *measuredRows) print(w io.Writer) error {
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
