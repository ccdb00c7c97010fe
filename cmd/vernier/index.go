package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

func newIndex(log *logrus.Logger) *cobra.Command {
	f := &indexFlags{}
	cmd := &cobra.Command{
		Use:   "index RUN --out FILE [IMAGE...]",
		Short: "Keep embeddings of images in a file that vernier search searches",
		Long: `Embed images with the model of a run and add them to an index, a file that may
grow. Which images: the IMAGEs (files, folders, archives), or those of --data SPEC, or of
the run's own --split, with their classes; or rows that are embedded already, by --from
FILE.

If FILE is there, rows are added to it, but for images that it has already. An image is
known by the SHA-256 of its file: the same image under another path is the same row. An
image that has changed takes the place of what was at its path, however that was written:
a relative or an absolute path, or one through a link to its folder. Rows of --from are
known by the paths in their file. The index knows the metric and the model of its rows and
refuses those of another model. Several processes may add to it, or make it, at once. One
that is killed while it adds leaves the rows of before.

Everything in an index has a checksum, which is compared whenever it is read: a damaged
index is neither searched nor added to. --check FILE, without a RUN, says what an index
holds and whether it is whole.`,
		Example: `  vernier index runs/birds --out birds.index photos/
  vernier index runs/birds --out birds.index --data folder:birds.zip
  vernier index runs/birds --out birds.index --from embedded.parquet
  vernier index --check birds.index --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.check != "" {
				return cli.Takes(false)(cmd, args)
			}
			return cli.Takes(true, "RUN")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ranks.Run(cmd, log, func(ranks comm.Comm) error {
				f.sel.Comm = ranks
				return f.run(cmd, args, log)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "index to add to; made if it is not there")
	fl.StringVar(&f.from, "from", "", "take rows from this file of embeddings instead of images")
	fl.BoolVar(&f.force, "force", false, "put a new index in the place of --out instead of adding to it")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	fl.StringVar(&f.check, "check", "", "say what this index holds and whether it is whole")
	addCrops(fl, &f.sel.Crops)
	f.selectionFlags.add(cmd)
	f.ranks.Add(fl)
	return cmd
}

// indexFlags are those of index.
type indexFlags struct {
	selectionFlags
	out, from, check string
	force, asJSON    bool
}

// indexReport is what index says.
type indexReport struct {
	Index    string       `json:"index"`
	Added    int          `json:"added"`
	Replaced int          `json:"replaced"` // the index had their image or path, with other contents
	Skipped  int          `json:"skipped"`  // the index had them
	Repeated int          `json:"repeated"` // they were given twice
	Rows     int          `json:"rows"`
	Info     gallery.Info `json:"info"`
}

func (f *indexFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	if f.check != "" {
		return f.describe(cmd)
	}
	if f.out == "" {
		return cli.Usagef("--out is missing: say where the index is to be")
	}
	if err := oneSource(cmd, args[1:], f.from); err != nil {
		return err
	}
	f.complete(cmd, log)
	folder, eng, err := f.device.OpenRun(args[0], f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	info, err := runInfo(folder, eng, f.sel.Choice, f.sel.Crops)
	if err != nil {
		return err
	}
	var index *gallery.File
	if !f.force { // what is wrong with the index is said before the work
		err := cli.Alone(f.sel.Comm, func() (err error) {
			index, err = gallery.OpenFile(f.out, info, eng)
			return err
		})
		if err != nil {
			return err
		}
		if index != nil { // of rank 0
			defer index.Close()
		}
	}
	t, err := f.rows(cmd.Context(), folder, eng, info, args[1:])
	if err != nil {
		return err
	}
	if f.sel.Comm.Rank() > 0 {
		return nil
	}
	r := indexReport{Index: f.out, Info: info}
	if err := r.add(cmd.Context(), index, t); err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd.OutOrStdout())
}

// oneSource checks that images come from one of the places where they may come from.
func oneSource(cmd *cobra.Command, images []string, from string) error {
	changed := cmd.Flags().Changed
	sources := 0
	for _, given := range []bool{len(images) > 0, changed("data") || changed("split"), from != ""} {
		if given {
			sources++
		}
	}
	switch sources {
	case 0:
		return cli.Usagef("which images? Give IMAGEs, --data SPEC, --split PART of the run's own, or --from FILE")
	case 1:
		return nil
	}
	return cli.Usagef("IMAGEs, --data or --split, and --from: give one of them")
}

// rowsFrom reads rows that are embedded already.
func rowsFrom(path string, info gallery.Info, events run.Events) (*gallery.Table, error) {
	t, err := gallery.Read(path)
	if err != nil {
		return nil, err
	}
	if t.Model == "" {
		events.Warn("%s does not say which model made its rows: they are taken for this run's", path)
	} else if t.Model != info.Model {
		return nil, fmt.Errorf("%s: %w", path, gallery.ErrOtherModel)
	}
	return t, nil
}

// rows embeds what is to be added.
func (f *indexFlags) rows(ctx context.Context, folder run.Folder, eng engine.Engine, info gallery.Info, images []string) (*gallery.Table, error) {
	switch {
	case f.from != "":
		return rowsFrom(f.from, info, f.sel.Events)
	case len(images) > 0:
		m := f.images()
		t, err := m.embed(ctx, folder, eng, images)
		if err != nil {
			return nil, err
		}
		at := newPlaces()
		for i, path := range t.Paths {
			t.Paths[i] = at.of(path)
		}
		return t, nil
	}
	return embedSplit(ctx, folder, eng, f.sel, true)
}

// runInfo describes the rows of a run's model.
func runInfo(folder run.Folder, eng engine.Engine, c run.Choice, crops int) (gallery.Info, error) {
	m, _, err := folder.LoadModel(eng, c)
	if err == nil {
		err = m.SetCrops(crops)
	}
	if err != nil {
		return gallery.Info{}, err
	}
	fingerprint, err := m.Fingerprint()
	return gallery.Info{Metric: m.Spec.Metric.String(), Model: fingerprint, Dim: m.Spec.Dim}, err
}

// embedSplit embeds images of a set, with their classes. Their paths are those in the
// set, or, placed, those of the files, and then they have keys.
func embedSplit(ctx context.Context, folder run.Folder, eng engine.Engine, sel run.Selection, placed bool) (*gallery.Table, error) {
	e, err := run.Embed(ctx, folder, eng, sel)
	if err != nil {
		return nil, err
	}
	t, err := e.Table()
	if err == nil && placed {
		at := newPlaces()
		t.Keys = make([]string, t.N)
		for i := range t.Paths {
			t.Paths[i] = at.ofItem(e.Set, i)
			if err == nil {
				t.Keys[i], err = e.Set.Key(i)
			}
		}
	}
	return t, errors.Join(err, e.Close())
}

// add puts the rows into an index, or without one puts a new index of all rows in the place
// of what is there.
func (r *indexReport) add(ctx context.Context, index *gallery.File, t *gallery.Table) error {
	if index == nil {
		distinct, repeated, err := gallery.Distinct(t)
		if err != nil {
			return err
		}
		r.Added, r.Repeated, r.Rows = distinct.N, repeated, distinct.N
		return gallery.Create(r.Index, r.Info, distinct)
	}
	did, err := index.Upsert(ctx, t)
	if err != nil {
		return err
	}
	stats, err := index.Stats(ctx)
	r.Added, r.Replaced, r.Skipped, r.Repeated, r.Rows = did.Added, did.Replaced, did.Unchanged, did.Repeated, stats.Rows
	return err
}

// describe checks an index.
func (f *indexFlags) describe(cmd *cobra.Command) error {
	info, rows, err := gallery.Check(f.check)
	if err != nil {
		return err
	}
	r := indexReport{Index: f.check, Rows: rows, Info: info}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), r)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is whole: %s of %s, compared by %s, of the model with fingerprint %s\n", f.check, plural.Of(r.Rows, "row"), plural.Of(r.Info.Dim, "number"), r.Info.Metric, r.Info.Model)
	return err
}

func (r indexReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: added %s", r.Index, plural.Of(r.Added, "row"))
	if r.Replaced > 0 {
		fmt.Fprintf(w, ", replaced %d", r.Replaced)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(w, ", left out %d that it has already", r.Skipped)
	}
	if r.Repeated > 0 {
		fmt.Fprintf(w, ", left out %d that were given twice", r.Repeated)
	}
	_, err := fmt.Fprintf(w, "; it has %d of %s, compared by %s\n", r.Rows, plural.Of(r.Info.Dim, "number"), r.Info.Metric)
	return err
}
