package main

import (
	"fmt"
	"io"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/run"
)

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
	if p == nil {
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
