package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// drmlParts are the parts of the ablation study.
var drmlParts = []string{"lambda", "batch", "curvature", "convergence"}

// drmlAblation is the study: its parts, each of groups of runs that differ in
// nothing but the seed. Parts share runs.
type drmlAblation struct {
	drmlFlags
	parts   []string
	factors []float64 // of the learning rate, for convergence

	runs   []*drmlRun
	groups map[string][]*drmlGroup // by part
}

// drmlGroup is a point of a part.
type drmlGroup struct {
	loss string
	// x is lambda or the size of a batch; line says what else differs.
	x    float64
	line string
	runs []*drmlRun
}

func newDRMLAblation(log *logrus.Logger) *cobra.Command {
	f := &drmlAblation{}
	cmd := &cobra.Command{
		Use:   "drml-ablation --data SPEC --out DIR",
		Short: "What geometry flow is worth by lambda, batch and curvature (Li et al. 2023, Figs. 3 to 7)",
		Long: `Study geometry flow in four parts, as the paper does:

  lambda       triplet and N-pair loss at lambda 0 and 0.2 to 0.9; figures, and
               curves at 0 to 0.4 (Figs. 3 to 5)
  batch        the same losses in batches of 20 to 90 images at lambda 0 and 0.2
               (Fig. 6), two images of a class each
  curvature    triplet and semi-hard loss alone, with flow, and with flow without
               curvature, at lambda 0.5 (Table III)
  convergence  the same losses at lambda 0 and 0.2, at learning rates --rates
               times that of the settings (Fig. 7)

Written are ablation.md, ablation.csv, ablation.json and curves.csv, after each run,
and figures at the end.
Curves are of the test classes, measured after each epoch for the record; nothing
is chosen by them.

` + drmlHelp,
		Example: `  vernier-papers drml-ablation --data cub200:CUB_200_2011 --weights bn_inception-52deb4733.pth --out runs/ablation
  vernier-papers drml-ablation --data glyphs --config small.yaml --parts lambda --seeds 1 --out runs/small`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := outFolder(f.out); err != nil {
				return err
			}
			if err := f.plan(); err != nil {
				return err
			}
			if err := f.run(cmd.Context(), log, f.runs, f.save); err != nil {
				return err
			}
			if err := f.plot(); err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout())
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&f.parts, "parts", drmlParts, "parts of the study, separated by commas: "+strings.Join(drmlParts, ", "))
	cmd.Flags().Float64SliceVar(&f.factors, "rates", []float64{1, .5}, "factors of the learning rate, for convergence")
	return cmd
}

// curvedLambdas are those of which curves are drawn (Figs. 4, 5 and 7).
var curvedLambdas = []float64{0, .2, .3, .4}

// plan lists the runs.
func (f *drmlAblation) plan() error {
	f.groups = map[string][]*drmlGroup{}
	for _, part := range f.parts {
		switch part {
		case "lambda":
			for _, loss := range []string{"triplet", "npair"} {
				for _, lambda := range []float64{0, .2, .3, .4, .5, .6, .7, .8, .9} {
					f.group(part, &drmlGroup{loss: loss, x: lambda, line: loss}, lambda, 0, 1)
				}
			}
		case "batch":
			for _, loss := range []string{"triplet", "npair"} {
				for _, lambda := range []float64{0, .2} {
					for size := 20; size <= 90; size += 10 {
						f.group(part, &drmlGroup{loss: loss, x: float64(size), line: fmt.Sprintf("%s, lambda %v", loss, lambda)}, lambda, size, 1)
					}
				}
			}
		case "convergence":
			for _, loss := range []string{"triplet", "semihard"} {
				for _, factor := range f.factors {
					for _, lambda := range []float64{0, .2} {
						f.group(part, &drmlGroup{loss: loss, line: fmt.Sprintf("lambda %v, rate x%v", lambda, factor)}, lambda, 0, factor)
					}
				}
			}
		case "curvature":
			for _, loss := range []string{"triplet", "semihard"} {
				f.group(part, &drmlGroup{loss: loss, line: "alone"}, 0, 0, 1)
				f.flat(&drmlGroup{loss: loss, line: "flow without curvature"})
				f.group(part, &drmlGroup{loss: loss, line: "flow"}, .5, 0, 1)
			}
		}
	}
	return f.rates()
}

// group adds a point of a part. batch 0 is that of the settings.
func (f *drmlAblation) group(part string, g *drmlGroup, lambda float64, batch int, factor float64) {
	for _, seed := range f.seeds {
		r := &drmlRun{Loss: g.loss, Variant: drmlVariants[0], Seed: uint64(seed), Name: g.loss, factor: factor, curve: batch == 0 && slices.Contains(curvedLambdas, lambda)}
		if lambda > 0 {
			text := strconv.FormatFloat(lambda, 'g', -1, 64)
			r.Variant, r.Name = "drml", r.Name+"-lambda"+text
			r.more = append(r.more, run.Setting{Path: "model.flow", Value: "lambda=" + text})
		}
		if batch > 0 {
			r.Name += fmt.Sprintf("-batch%d", batch)
			r.more = append(r.more, run.Setting{Path: "images_per_class", Value: 2}, run.Setting{Path: "classes_per_batch", Value: batch / 2})
		}
		if factor != 1 {
			r.Name += "-rate" + strconv.FormatFloat(factor, 'g', -1, 64)
		}
		g.runs = append(g.runs, f.shared(r))
	}
	f.groups[part] = append(f.groups[part], g)
}

// flat adds a point with flow but without curvature.
func (f *drmlAblation) flat(g *drmlGroup) {
	for _, seed := range f.seeds {
		g.runs = append(g.runs, f.shared(&drmlRun{Loss: g.loss, Variant: "drml-flat", Seed: uint64(seed), Name: g.loss + "-flat", factor: 1}))
	}
	f.groups["curvature"] = append(f.groups["curvature"], g)
}

// shared returns the run of that name and seed, which another part may have
// added.
func (f *drmlAblation) shared(r *drmlRun) *drmlRun {
	r.Name += fmt.Sprintf("-seed%d", r.Seed)
	for _, other := range f.runs {
		if other.Name == r.Name {
			return other
		}
	}
	f.runs = append(f.runs, r)
	return r
}

// rates sets the learning rates that differ from the settings'.
func (f *drmlAblation) rates() error {
	for _, r := range f.runs {
		if r.factor == 1 {
			continue
		}
		s, err := f.settings(r)
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		c, err := s.Config()
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		r.more = append(r.more, run.Setting{Path: "optimizer.rate", Value: r.factor * c.Optimizer.Rate})
	}
	return nil
}

// save writes the tables of what there is.
func (f *drmlAblation) save() error {
	if err := saveRuns(f.out, "ablation", f.runs); err != nil {
		return err
	}
	if err := saveCurves(filepath.Join(f.out, "curves.csv"), f.runs); err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(f.out, "ablation.md"), f.write)
}

// write writes a table a part as Markdown.
func (f *drmlAblation) write(w io.Writer) error {
	fmt.Fprintf(w, "# Ablation of geometry flow on %s\n\nPercent, mean ± deviation over %s. R@1, NMI and F1 are of each image alone;\nthe columns after them of batches mixed by geometry flow, which are not figures of a metric.\n\n", filepath.Base(f.data), plural.Of(len(f.seeds), "seed"))
	for _, part := range f.parts {
		fmt.Fprintf(w, "## %s\n\n", part)
		x := map[string]string{"lambda": "lambda", "batch": "images a batch"}[part]
		head := []string{"loss", "", "R@1", "NMI", "F1", "shuffled: nearest of its class", "NMI", "F1", "class-sorted: nearest of its class", "NMI", "F1", "ms a step"}
		if x != "" {
			head[1] = x
		}
		figures := drmlFigures([]int{1})
		figures = slices.Delete(figures, 1, 2) // without MAP@R
		var rows [][]string
		for _, g := range f.groups[part] {
			row := []string{g.loss, g.line}
			if x != "" {
				row[0], row[1] = g.line, strconv.FormatFloat(g.x, 'g', -1, 64)
			}
			for _, m := range drmlModes() {
				for _, fig := range figures {
					row = append(row, summarize(g.runs, m, fig).String())
				}
			}
			rows = append(rows, append(row, stepTime(g.runs)))
		}
		writeTable(w, head, rows)
	}
	for _, r := range f.runs {
		if r.Failed != "" {
			fmt.Fprintf(w, "%s: %s\n", r.Name, r.Failed)
		}
	}
	return nil
}
