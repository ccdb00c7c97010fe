package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/probing"
	"github.com/vernier-ml/vernier/cmd/internal/rowfiles"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/report"
	"github.com/vernier-ml/vernier/run"
)

func newReport(log *logrus.Logger) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Show a run, or embeddings by another program, on one page of HTML",
		Long: `Write one page of HTML about a run: its settings, its figures beside published ones,
curves of the training, distances inside and between classes, ROC and DET, the queries
that went worst with their nearest images, which classes are taken for which, and maps
of the embedding (t-SNE and PCA).

--embeddings shows rows that another program made in place of a RUN, as eval
--embeddings measures them: figures with 95% intervals, distances inside and between
classes, nearest neighbors, confusions and maps; of several files also the differences
to the first. Where a column path, of the rows or of --labels, names images (relative to
its file, or to the working directory), the page shows them, else the numbers as gray
squares. A file NAME.paths.npy beside NAME.npy, as vernier embed writes it, does the same.

The page holds everything, pictures as well. It opens from a disk, fetches nothing
and runs no script.`,
		Example: `  vernier report runs/birds
  vernier report runs/birds --split validation --out validation.html --hardest 40
  vernier report --embeddings clip.npy,dino.npy --labels images.csv --out embeddings.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.opt.Rerank, err = parseRerank(f.rerank); err != nil {
				return err
			}
			if f.opt.Probe, err = f.probing.Options(cmd.Flags(), parseKs); err != nil {
				return err
			}
			if err := f.rows.Check(cmd, args, withReport...); err != nil || f.rows.Embeddings != "" {
				return err
			}
			if cmd.Flags().Changed("metric") {
				return cli.Usagef("--metric needs --embeddings: a RUN has its own")
			}
			if len(args) == 0 {
				return cli.Usagef("RUN is missing; or give --embeddings, to show rows of another program")
			}
			return cli.Takes(false, "RUN")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.rows.Embeddings != "" {
				return f.runRows(cmd, log)
			}
			return f.run(cmd, args[0], log)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "file to write (default RUN/"+run.ReportFile+", which is replaced; of --embeddings "+run.ReportFile+")")
	fl.BoolVar(&f.force, "force", false, "replace --out if it exists")
	fl.BoolVar(&f.asJSON, "json", false, "print what the page shows as JSON")
	fl.IntVar(&f.opt.Hardest, "hardest", 12, "how many of the hardest queries to show")
	fl.IntVar(&f.opt.Drawn, "drawn", 8, "how many queries at random to show")
	fl.IntVar(&f.opt.Neighbors, "neighbors", 8, "how many nearest images of every query to show")
	fl.IntVar(&f.opt.Points, "points", 1500, "images on the maps at most")
	f.rows.AddSeveral(fl)
	rowfiles.AddMetric(fl)
	fl.StringVar(&f.superClasses, "super-classes", "", "CSV `FILE` with the lines class,super: figures of super-classes and their mean")
	addRerank(fl, &f.rerank)
	f.probing.Add(fl)
	f.selectionFlags.add(cmd)
	return cmd
}

// withReport are the other flags of report that --embeddings goes with.
var withReport = []string{"out", "force", "json", "hardest", "drawn", "neighbors", "points", "super-classes", "rerank", "knn", "probe", "bank-share", "device", "precision", "deterministic", "threads", "workers"}

// reportFlags are those of report.
type reportFlags struct {
	selectionFlags
	rows          rowfiles.Flags
	superClasses  string
	rerank        []string
	probing       probing.Flags
	out           string
	force, asJSON bool
	opt           report.Options
}

func (f *reportFlags) run(cmd *cobra.Command, path string, log *logrus.Logger) error {
	f.complete(cmd, log)
	if f.out == "" {
		f.out = run.Folder(path).Path(run.ReportFile)
	} else if err := f.checkOut(); err != nil {
		return err
	}
	if f.superClasses != "" {
		var err error
		if f.sel.SuperClasses, err = data.ReadSuperClasses(f.superClasses); err != nil {
			return cli.Usagef("--super-classes: %w", err)
		}
	}
	folder, eng, err := f.device.OpenRun(path, f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	f.opt.Selection = f.sel
	r, err := report.Make(cmd.Context(), folder, eng, f.opt)
	if err != nil {
		return err
	}
	return f.write(cmd, r)
}

// runRows shows files of embeddings.
func (f *reportFlags) runRows(cmd *cobra.Command, log *logrus.Logger) error {
	if f.out == "" {
		f.out = run.ReportFile
	}
	if err := f.checkOut(); err != nil {
		return err
	}
	f.rows.SuperClasses = f.superClasses
	sets, err := f.rows.Open(cmd.Flags().Lookup("metric"), log.Warnf)
	if err != nil {
		return err
	}
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	f.opt.Events, f.opt.Workers = newReporter(log), f.sel.Workers
	const seed = 1
	figures, err := run.MeasureRows(cmd.Context(), eng, sets, seed, run.MeasureOptions{Selection: f.opt.Selection, Rerank: f.opt.Rerank, Probe: f.opt.Probe})
	if err != nil {
		return err
	}
	r, err := report.MakeRows(cmd.Context(), eng, sets, figures, seed, f.opt)
	if err != nil {
		return err
	}
	return f.write(cmd, r)
}

func (f *reportFlags) checkOut() error {
	if _, err := os.Stat(f.out); err == nil && !f.force {
		return fmt.Errorf("file %s already exists (--force replaces it)", f.out)
	}
	return nil
}

// write writes the page and prints where it is, or what it shows.
func (f *reportFlags) write(cmd *cobra.Command, r *report.Report) error {
	if err := wholefile.Write(f.out, func(w io.Writer) error { return r.Write(w) }); err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), struct {
			Page string `json:"page"`
			*report.Report
		}{f.out, r})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), f.out)
	return err
}
