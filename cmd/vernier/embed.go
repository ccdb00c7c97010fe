package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// embedFormats lists what embed writes: what a gallery reads, and JSON.
func embedFormats() []string { return append(gallery.Formats(), "json") }

func newEmbed(log *logrus.Logger) *cobra.Command {
	f := &embedFlags{}
	cmd := &cobra.Command{
		Use:   "embed RUN IMAGE...",
		Short: "Embed new images",
		Long: `Embed images with the model of a run and print one row an image: csv has a
column path and then e0, e1, ...; json one object a line. With --out the end of the
file's name says the format: csv, json, npy (the rows alone, and NAME.paths.npy
beside it), npz, safetensors or parquet. An IMAGE may be a folder: then all images
below it are meant, in natural order. A model of features takes files of rows in place
of images, as eval --embeddings does. RUN may be a model file that stands alone, as
best.safetensors of a run copied elsewhere.

Beside --out FILE lies FILE.sha256 with its checksum, for sha256sum -c. vernier search and
vernier index compare it, and refuse a FILE that was cut or changed.

Rows are to be compared by the run's own metric, which parquet, safetensors and npz
name, together with the model's fingerprint. vernier search reads all but json.`,
		Example: `  vernier embed runs/birds robin.jpg wren.png
  vernier embed runs/birds photos/ --out photos.parquet
  vernier embed birds.safetensors robin.jpg`,
		Args: cli.Takes(true, "RUN", "IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ranks.Run(cmd, log, func(ranks comm.Comm) error {
				f.opt.Comm = ranks
				return f.run(cmd, args, log)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "", "format of the output: "+strings.Join(embedFormats(), ", ")+" (default by the name of --out, or csv)")
	fl.StringVar(&f.out, "out", "", "file to write (default standard output)")
	fl.BoolVar(&f.force, "force", false, "replace --out if it exists")
	fl.StringVar(&f.expand, "expand", "", "expand the rows by this expansion.json of an export, as queries for its rows")
	f.modelFlags.add(fl)
	return cmd
}

// embedFlags are those of embed.
type embedFlags struct {
	modelFlags
	format, out string
	expand      string
	force       bool
}

func (f *embedFlags) complete(log *logrus.Logger) error {
	f.opt.Events = newReporter(log)
	ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(f.out), "."))
	known := slices.Contains(embedFormats(), ending)
	switch {
	case f.out == "" && f.format == "":
		f.format = "csv"
	case f.out == "" && f.format != "csv" && f.format != "json":
		return cli.Usagef("--format %s needs --out", f.format)
	case f.out == "":
	case f.format == "" && !known:
		return cli.Usagef("--out %q: want a name that ends in .%s; or say with --format what to write", f.out, strings.Join(embedFormats(), ", ."))
	case f.format == "":
		f.format = ending
	case known && f.format != ending:
		return cli.Usagef("--format %s, but --out %q ends like a file of %s: such a file would be read as what it is not", f.format, f.out, ending)
	}
	return nil
}

func (f *embedFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	if err := f.complete(log); err != nil {
		return err
	}
	if f.out != "" && !f.force {
		if _, err := os.Stat(f.out); err == nil {
			return fmt.Errorf("file %s already exists (--force replaces it)", f.out)
		}
	}
	t, err := f.table(cmd, args, log)
	if err != nil {
		return err
	}
	if f.opt.Comm.Rank() > 0 {
		return nil
	}
	if f.expand != "" {
		x, err := readExpansion(f.expand, t.Embeddings, f.opt.Events)
		if err == nil {
			err = run.ExpandTable(x, t)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.out != "" && f.format == "json":
		return sums.Sign(f.out, func() ([]string, error) {
			return []string{filepath.Base(f.out)}, wholefile.Write(f.out, func(w io.Writer) error { return writeLines(w, t) })
		})
	case f.out != "":
		return gallery.WriteSigned(f.out, f.format, t)
	case f.format == "csv":
		return gallery.WriteCSV(cmd.OutOrStdout(), t)
	}
	return writeLines(cmd.OutOrStdout(), t)
}

// table embeds with the model of a run, or of a file that stands alone.
func (f *embedFlags) table(cmd *cobra.Command, args []string, log *logrus.Logger) (*gallery.Table, error) {
	if !run.IsModelFile(args[0]) {
		folder, eng, err := f.device.OpenRun(args[0], f.threads, log)
		if err != nil {
			return nil, err
		}
		defer eng.Close()
		return f.embed(cmd.Context(), folder, eng, args[1:])
	}
	if cmd.Flags().Changed("epoch") {
		return nil, cli.Usagef("--epoch chooses a model of a RUN; %s is a file of one model", args[0])
	}
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	m, cfg, _, err := run.LoadModelFile(args[0], eng)
	if err != nil {
		return nil, err
	}
	return f.embedBy(cmd.Context(), m, cfg, args[1:])
}

// writeLines writes one JSON object an image.
func writeLines(w io.Writer, t *gallery.Table) error {
	for i := range t.N {
		if err := cli.WriteJSONLine(w, struct {
			Path      string    `json:"path"`
			Embedding []float32 `json:"embedding"`
		}{t.Path(i), t.Row(i)}); err != nil {
			return err
		}
	}
	return nil
}

// openImages opens files, folders and archives of images as a run wants them.
func openImages(ctx context.Context, paths []string, cfg run.Config, events run.Events) (*data.Set, error) {
	set, err := data.OpenImages(ctx, paths, data.Options{Decode: pixels.Options{MaxPixels: cfg.Data.MaxPixels}, Progress: func(what string, done, total int) {
		events.Progress(what, done, total, "")
	}})
	if err != nil || cfg.Data.Shorter == 0 {
		return set, err
	}
	shrunk, err := data.Shrunk(set, cfg.Data.Shorter) // as in training
	if err != nil {
		set.Close()
		return nil, err
	}
	return shrunk, nil
}

// openInputs opens what a model takes: images, or files of rows of features.
func openInputs(ctx context.Context, m *model.Model, paths []string, cfg run.Config, events run.Events) (*data.Set, error) {
	if m.Width() > 0 {
		return data.OpenRows(paths)
	}
	return openImages(ctx, paths, cfg, events)
}

// embed embeds files, folders and archives of images, whose classes nobody knows.
func (f *modelFlags) embed(ctx context.Context, folder run.Folder, eng engine.Engine, paths []string) (*gallery.Table, error) {
	cfg, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	m, _, err := folder.LoadModel(eng, run.Choice(f.epoch))
	if err != nil {
		return nil, err
	}
	return f.embedBy(ctx, m, cfg, paths)
}

// embedBy is embed by a model that is loaded.
func (f *modelFlags) embedBy(ctx context.Context, m *model.Model, cfg run.Config, paths []string) (*gallery.Table, error) {
	if err := m.SetCrops(f.crops); err != nil {
		return nil, err
	}
	set, err := openInputs(ctx, m, paths, cfg, f.opt.Events)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	for _, n := range set.Remarks() {
		f.opt.Events.Warn("%s", n)
	}
	return f.embedSet(ctx, m, cfg, set)
}

// embedSet is embedBy of a set.
func (f *modelFlags) embedSet(ctx context.Context, m *model.Model, cfg run.Config, set *data.Set) (*gallery.Table, error) {
	if err := m.Spec.Metric.Validate(); err != nil {
		return nil, fmt.Errorf("rows in a file are compared by their metric alone: %w", err)
	}
	opt := f.opt
	opt.Workers = f.workers
	rows, err := run.EmbedImages(ctx, m, set, max(f.maxBad, cfg.Data.MaxBad), opt)
	if err != nil {
		return nil, err
	}
	rows.Labels = nil
	t := &gallery.Table{Embeddings: rows.Embeddings, Metric: m.Spec.Metric.String(), Data: set.Name}
	for _, i := range rows.Items {
		key, err := set.Key(i)
		if err != nil {
			return nil, err
		}
		t.Paths, t.Keys = append(t.Paths, set.Items[i].Path), append(t.Keys, key)
	}
	t.Model, err = m.Fingerprint()
	return t, err
}
