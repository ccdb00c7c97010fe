package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
)

// flowHelp explains --flow.
func flowHelp() string {
	var b strings.Builder
	b.WriteString(`

--flow adds geometry flow layers (Li et al. 2023) to a convolutional network: in
training, images of a batch that are near each other pull each other's features
together behind the convolutions after=2 (the first two) or after=NAME+NAME
(by the names of their weights). Recall@K is of each image alone, without the
layers; eval shows besides what whole batches give. Options, with defaults:
`)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, o := range layers.FlowOptions() {
		fmt.Fprintf(t, "  %s=%s\t%s\t%s\n", o.Name, o.Default, o.Values, o.Meaning)
	}
	if err := t.Flush(); err != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n")
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
