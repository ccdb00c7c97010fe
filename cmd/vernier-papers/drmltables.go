package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// drmlTablesFlags are the flags of drml-tables.
type drmlTablesFlags struct {
	drmlFlags
	losses, variants []string
}

func newDRMLTables(log *logrus.Logger) *cobra.Command {
	f := &drmlTablesFlags{}
	cmd := &cobra.Command{
		Use:   "drml-tables --data SPEC --out DIR",
		Short: "Losses with geometry flow, SEC and BRM (Li et al. 2023, Tables I to III)",
		Long: `Train each of four losses alone, with the spherical embedding constraint (sec),
with geometry flow (drml), with it but without curvature (drml-flat), with BRM in
place of the squared Euclidean distance (brm), and with both (brm-drml), and write
mean and deviation over the seeds to tables.md, every figure to tables.csv and
tables.json, and tables.png.

` + drmlHelp,
		Example: `  vernier-papers drml-tables --data cub200:CUB_200_2011 --weights bn_inception-52deb4733.pth --out runs/drml
  vernier-papers drml-tables --data glyphs --config small.yaml --losses triplet --seeds 1 --out runs/small`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := outFolder(f.out); err != nil {
				return err
			}
			var runs []*drmlRun
			for _, seed := range f.seeds { // all methods once before any twice
				for _, loss := range f.losses {
					for _, variant := range f.variants {
						runs = append(runs, &drmlRun{Name: fmt.Sprintf("%s-%s-seed%d", loss, variant, seed), Loss: loss, Variant: variant, Seed: uint64(seed)})
					}
				}
			}
			if err := f.run(cmd.Context(), log, runs, func() error { return f.save(runs) }); err != nil {
				return err
			}
			if err := f.plot(runs); err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), runs)
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&f.losses, "losses", drmlLosses, "losses to train, separated by commas: "+strings.Join(drmlLosses, ", "))
	cmd.Flags().StringSliceVar(&f.variants, "variants", drmlVariants, "variants of each loss to train, separated by commas: "+strings.Join(drmlVariants, ", "))
	return cmd
}

func (f *drmlTablesFlags) save(runs []*drmlRun) error {
	if err := saveRuns(f.out, "tables", runs); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(f.out, "tables.md"), func(w io.Writer) error { return f.write(w, runs) })
}

// cell returns the runs of a loss and a variant.
func cell(runs []*drmlRun, loss, variant string) []*drmlRun {
	return slices.DeleteFunc(slices.Clone(runs), func(r *drmlRun) bool { return r.Loss != loss || r.Variant != variant })
}

// write writes the tables as Markdown.
func (f *drmlTablesFlags) write(w io.Writer, runs []*drmlRun) error {
	made, failed := 0, ""
	var one *train.Trial
	for _, r := range runs {
		if r.Trial != nil {
			made, one = made+1, r.Trial
		}
		if r.Failed != "" {
			failed += fmt.Sprintf("%s: %s\n", r.Name, r.Failed)
		}
	}
	fmt.Fprintf(w, "# Geometry flow on %s\n\n%d of %s", filepath.Base(f.data), made, plural.Of(len(runs), "run"))
	if one != nil {
		fmt.Fprintf(w, "; %s of %s", plural.Of(one.Alone.Queries, "test image"), plural.Of(one.Alone.Classes, "class"))
	}
	fmt.Fprintf(w, ". Percent, mean ± deviation over seeds.\n\n## Recall@K, each image alone\n\n")
	figures := drmlFigures(drmlKs)
	modes := drmlModes()
	head := []string{"loss", "variant"}
	for _, g := range figures {
		head = append(head, g.name)
	}
	var rows [][]string
	for _, loss := range f.losses {
		for _, variant := range f.variants {
			these := cell(runs, loss, variant)
			row := []string{loss, variant}
			for _, g := range figures {
				row = append(row, summarize(these, modes[0], g).String())
			}
			rows = append(rows, append(row, stepTime(these)))
		}
	}
	writeTable(w, append(head, "ms a step"), rows)
	f.writeMixed(w, runs)
	if err := f.writePublished(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, failed)
	return err
}

// writeMixed writes what batches give, under other headings than Recall@K.
func (f *drmlTablesFlags) writeMixed(w io.Writer, runs []*drmlRun) {
	figures := drmlFigures([]int{1})
	var rows [][]string
	for _, loss := range f.losses {
		for _, variant := range f.variants {
			these := cell(runs, loss, variant)
			row := []string{loss, variant}
			any := false
			for _, m := range drmlModes()[1:] {
				for _, g := range figures {
					s := summarize(these, m, g)
					any = any || s.n > 0
					row = append(row, s.String())
				}
			}
			if any {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(w, "## The same images in batches, mixed by geometry flow\n\nNot figures of a metric: an embedding depends on the images beside it, and sorted by\nclass these give the answer away. Without geometry flow both are what stands above.\n\n")
	head := []string{"loss", "variant"}
	for _, m := range drmlModes()[1:] {
		head = append(head, m.name+": nearest of its class", "MAP@R", "NMI", "F1")
	}
	writeTable(w, head, rows)
}

// writePublished writes the paper's figures, if they are of this data set.
func (f *drmlTablesFlags) writePublished(w io.Writer) error {
	var rows [][]string
	for _, loss := range f.losses {
		for _, variant := range f.variants {
			p, err := run.LoadPreset(f.preset(loss, variant))
			if err != nil {
				return err
			}
			if !f.published(p) {
				return nil
			}
			for _, q := range p.Published {
				row := []string{loss, variant, q.From}
				for _, k := range []int{1, 2, 4, 8, 10, 100, 1000} {
					if v, ok := q.Recall[k]; ok {
						row = append(row, fmt.Sprintf("R@%d %.2f", k, v))
					}
				}
				rows = append(rows, append(row, fmt.Sprintf("NMI %.2f, F1 %.2f", 100*q.NMI, 100*q.F1)))
			}
		}
	}
	fmt.Fprint(w, "## Published\n\nThe paper mixes the images of a batch in testing, in an order that it does not give.\n\n")
	writeTable(w, []string{"loss", "variant", "from", "", "", "", "", ""}, rows)
	return nil
}

// plot draws Recall@1 of each image alone.
func (f *drmlTablesFlags) plot(runs []*drmlRun) error {
	figure := plot.Lines{Title: "Recall@1, each image alone, " + filepath.Base(f.data), X: "variant", Y: "Recall@1 [%], ± one deviation", Names: f.variants}
	alone, recall := drmlModes()[0], drmlFigures([]int{1})[0]
	for _, loss := range f.losses {
		l := plot.Line{Name: loss}
		for k, variant := range f.variants {
			if s := summarize(cell(runs, loss, variant), alone, recall); s.n > 0 {
				l.Points = append(l.Points, plot.Point{X: float64(k), Y: s.mean})
				l.Deviation = append(l.Deviation, s.std)
			}
		}
		if len(l.Points) > 0 {
			figure.Lines = append(figure.Lines, l)
		}
	}
	if len(figure.Lines) == 0 {
		return nil
	}
	return plot.PNG(filepath.Join(f.out, "tables.png"), figure)
}
