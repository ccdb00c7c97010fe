package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/report"
	"github.com/vernier-ml/vernier/run"
)

func newReport(log *logrus.Logger) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Show a run on one page of HTML",
		Long: `Write one page of HTML about a run: its settings, its figures beside published ones,
curves of the training, distances inside and between classes, ROC and DET, the queries
that went worst with their nearest images, which classes are taken for which, and maps
of the embedding (t-SNE and PCA).

The page holds everything, pictures as well. It opens from a disk, fetches nothing
and runs no script.`,
		Example: `  vernier report runs/birds
  vernier report runs/birds --split validation --out validation.html --hardest 40`,
		Args: cli.Takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], log) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "file to write (default RUN/"+run.ReportFile+", which is replaced)")
	fl.BoolVar(&f.force, "force", false, "replace --out if it exists")
	fl.BoolVar(&f.asJSON, "json", false, "print what the page shows as JSON")
	fl.IntVar(&f.opt.Hardest, "hardest", 12, "how many of the hardest queries to show")
	fl.IntVar(&f.opt.Drawn, "drawn", 8, "how many queries at random to show")
	fl.IntVar(&f.opt.Neighbors, "neighbors", 8, "how many nearest images of every query to show")
	fl.IntVar(&f.opt.Points, "points", 1500, "images on the maps at most")
	f.selectionFlags.add(cmd)
	return cmd
}

// reportFlags are those of report.
type reportFlags struct {
	selectionFlags
	out           string
	force, asJSON bool
	opt           report.Options
}

func (f *reportFlags) run(cmd *cobra.Command, path string, log *logrus.Logger) error {
	f.complete(cmd, log)
	if f.out == "" {
		f.out = run.Folder(path).Path(run.ReportFile)
	} else if _, err := os.Stat(f.out); err == nil && !f.force {
		return fmt.Errorf("file %s already exists (--force replaces it)", f.out)
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
	if err := wholefile.Write(f.out, func(w io.Writer) error { return r.Write(w) }); err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), struct {
			Page string `json:"page"`
			*report.Report
		}{f.out, r})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), f.out)
	return err
}
