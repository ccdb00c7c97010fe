package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/vernier-ml/vernier/cmd/internal/probing"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

// printResults writes a table a person can read.
func printResults(w io.Writer, r *run.Results) error {
	m := r.Model
	name, state := "model", "before training"
	if r.Epoch > 0 {
		state = fmt.Sprintf("model of epoch %d", r.Epoch)
		if r.Last != nil || r.LastEMA != nil {
			name = fmt.Sprintf("best epoch, %d", r.Epoch)
		}
	}
	if r.Averaged {
		name, state = name+", averaged", state+" with averaged weights"
	}
	searched := ""
	if m.Gallery > 0 {
		searched = fmt.Sprintf(" in a gallery of %d", m.Gallery)
	}
	fmt.Fprintf(w, "%s: %s%s of %s (%s), %s\n\n", r.Data, plural.Of(m.Queries, "query"), searched, plural.Of(m.Classes, "class"), m.Split, state)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range m.Recall {
		fmt.Fprintf(t, "R@%d\t", k.K)
	}
	fmt.Fprintln(t, "MAP@R\tNMI\tF1\t  distance")
	rows := []probing.Row{{Name: name, Figures: r.Model}, {Name: fmt.Sprintf("last epoch, %d", r.LastEpoch), Figures: r.Last}, {Name: fmt.Sprintf("last epoch, %d, averaged", r.LastEpoch), Figures: r.LastEMA}, {Name: "before training", Figures: r.Untrained}, {Name: r.RawName(), Figures: r.RawPixels}}
	for _, row := range rows {
		f := row.Figures
		if f == nil {
			continue
		}
		fmt.Fprintf(t, "%s\t", row.Name)
		for _, k := range f.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%.1f\t%s\t%s\t  %s\n", 100*f.MAPAtR, share(f.NMI), share(f.F1), f.Distance)
	}
	printReported(t, m, r.Preset)
	if err := t.Flush(); err != nil {
		return err
	}
	printReportedNotes(w, r.Preset)
	if err := printReranked(w, name, m); err != nil {
		return err
	}
	if err := probing.Print(w, rows); err != nil {
		return err
	}
	if err := printMixed(w, r.GeometryFlow); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRecall@K and MAP@R in percent; ties %s", m.Ties)
	if c := m.Clustering; c != nil {
		fmt.Fprintf(w, "; NMI and F1 from %s of k-means with %s, center %s", plural.Of(c.Restarts, "run"), plural.Of(c.Clusters, "cluster"), c.Center)
	}
	if m.TrapezoidMAP != nil {
		fmt.Fprintf(w, "; without images of the query's class and group, MAP of the model %.1f, by trapezoids %.1f", 100*m.MAP, 100**m.TrapezoidMAP)
	}
	if m.LoneQueries > 0 {
		fmt.Fprintf(w, "; %s without another image of the class: misses", plural.Of(m.LoneQueries, "query"))
	}
	_, err := fmt.Fprintln(w)
	return err
}

func share(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// printReported adds the figures that are reported for a run's recipe to the
// table of its own.
func printReported(w io.Writer, ours *eval.Figures, p *run.PresetFigures) {
	if p == nil {
		return
	}
	for i, f := range p.Published {
		fmt.Fprintf(w, "reported [%d]\t", i+1)
		for _, k := range ours.Recall {
			if v, ok := f.Recall[k.K]; ok {
				fmt.Fprintf(w, "%.1f\t", v)
			} else {
				fmt.Fprint(w, "-\t")
			}
		}
		fmt.Fprintf(w, "-\t%s\t%s\t\n", reportedShare(f.NMI), reportedShare(f.F1))
	}
}

func reportedShare(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", v)
}

// printReportedNotes says where reported figures are from.
func printReportedNotes(w io.Writer, p *run.PresetFigures) {
	if p == nil || len(p.Published) == 0 { // a recipe of our own
		return
	}
	fmt.Fprintln(w)
	for i, f := range p.Published {
		fmt.Fprintf(w, "[%d] of %s on %s: %s; %s, not measured here\n", i+1, p.Name, p.Data, f.From, seenText(f.Seen))
	}
	fmt.Fprintf(w, "Repeated runs of one recipe are half a point to a point of Recall@1 apart, with another size of batch more.\n")
	if !p.Same {
		fmt.Fprintf(w, "This run has other images or another backbone than the recipe: the reported figures are no measure for it.\n")
	}
}

// printMixed writes what a model with geometry flow makes of batches. Its columns
// are not headed Recall@K, because they are not that of a metric.
func printMixed(w io.Writer, r *run.MixedResults) error {
	if r == nil {
		return nil
	}
	trained := ""
	if !r.Trained {
		trained = "\n(which the model was not trained with)"
	}
	fmt.Fprintf(w, "\nThe same images in batches of %d, mixed by geometry flow%s. These are\nnot figures of a metric: an embedding depends on the images beside it, and sorted\nby class these give the answer away.\n\n", r.Batch, trained)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range r.Shuffled.Recall {
		fmt.Fprintf(t, "in %d\t", k.K)
	}
	fmt.Fprintln(t, "NMI\tF1\t")
	for _, row := range []struct {
		name string
		f    *eval.Figures
	}{{"shuffled batches", r.Shuffled}, {"class-sorted batches", r.ClassSorted}} {
		fmt.Fprintf(t, "%s\t", row.name)
		for _, k := range row.f.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%s\t%s\t\n", share(row.f.NMI), share(row.f.F1))
	}
	return t.Flush()
}
