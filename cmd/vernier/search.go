package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/rerank"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
)

func newSearch(log *logrus.Logger) *cobra.Command {
	f := &searchFlags{}
	cmd := &cobra.Command{
		Use:   "search RUN [--gallery FILE] --query IMAGE...",
		Short: "Find the images of a gallery that are nearest to given ones",
		Long: `Embed the query images with the model of a run and print the nearest images of a
gallery, by the run's metric, exactly. A query may be a folder or an archive.

The gallery is an index of vernier index, a file of embeddings (parquet,
safetensors, npz, npy, csv), a folder that vernier export wrote, or RUN itself, which
is the default: the images of --split, or of --data. A gallery of another model's
embeddings is refused.

If the model has a threshold (vernier verify --calibrate ... --store), the images
within it are marked as the same.`,
		Example: `  vernier search runs/birds --query robin.jpg -k 5
  vernier search runs/birds --gallery birds.index --query robin.jpg wren.jpg --json`,
		Args: cli.Takes(true, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ranks.Run(cmd, log, func(ranks comm.Comm) error {
				f.sel.Comm = ranks
				return f.run(cmd, args, log)
			})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.queries, "query", nil, "image, folder or archive to search for; more may follow")
	fl.StringVar(&f.gallery, "gallery", "", "index, file or folder of embeddings to search in (default RUN)")
	fl.IntVarP(&f.k, "nearest", "k", 10, "number of images to find")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	fl.StringVar(&f.rerank, "rerank", "", fmt.Sprintf("print in another order: %s; of the former the order is that of the nearest %d", rerank.Usage, rerank.Candidates))
	addCrops(fl, &f.sel.Crops)
	f.selectionFlags.add(cmd)
	f.ranks.Add(fl)
	return cmd
}

// searchFlags are those of search.
type searchFlags struct {
	selectionFlags
	queries []string
	gallery string
	k       int
	asJSON  bool
	rerank  string
}

// found is what search says of a query.
type found struct {
	Query     string     `json:"query"`
	Neighbors []neighbor `json:"neighbors"`
}

type neighbor struct {
	Row      int     `json:"row"` // of the gallery
	Path     string  `json:"path,omitempty"`
	Class    string  `json:"class,omitempty"`
	Distance float64 `json:"distance"`
	Same     *bool   `json:"same,omitempty"` // by the model's threshold
}

func (f *searchFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	queries := append(f.queries, args[1:]...)
	if len(queries) == 0 {
		return cli.Usagef("--query is missing: say which images to search for")
	}
	if f.gallery != "" && (cmd.Flags().Changed("data") || cmd.Flags().Changed("split")) {
		return cli.Usagef("--gallery is searched, or the images of --data or --split: give one of them")
	}
	var way rerank.Method
	if f.rerank != "" {
		var err error
		if way, err = rerank.Parse(f.rerank); err != nil {
			return cli.Usagef("--rerank: %w", err)
		}
	}
	f.complete(cmd, log)
	folder, eng, err := f.device.OpenRun(args[0], f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	list, err := f.search(cmd.Context(), folder, eng, queries, way)
	if err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), list)
	}
	return printFound(cmd.OutOrStdout(), list)
}

func (f *searchFlags) search(ctx context.Context, folder run.Folder, eng engine.Engine, queries []string, way rerank.Method) ([]found, error) {
	m, _, err := folder.LoadModel(eng, f.sel.Choice)
	if err != nil {
		return nil, err
	}
	info, err := runInfo(folder, eng, f.sel.Choice, f.sel.Crops)
	if err != nil {
		return nil, err
	}
	own := f.images()
	q, err := own.embed(ctx, folder, eng, queries) // there are fewer than images in the gallery
	if err != nil {
		return nil, err
	}
	g, err := f.open(ctx, folder, eng, info)
	if err != nil {
		return nil, err
	}
	opt := eval.SearchOptions{
		Workers: f.sel.Workers, Comm: f.sel.Comm, Progress: func(done, total int) { f.sel.Events.Progress("search", done, total, "") },
	}
	var hits [][]gallery.Hit
	if way != nil {
		hits, err = g.SearchReranked(ctx, eng, q.Embeddings, info, f.k, way, opt)
	} else {
		hits, err = g.Search(ctx, eng, q.Embeddings, info, f.k, opt)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(f.gallery, string(folder)), err)
	}
	if len(hits) > 0 && len(hits[0]) < f.k {
		f.sel.Events.Warn("--nearest %d: the gallery has %s", f.k, plural.Of(len(hits[0]), "image"))
	}
	list := make([]found, len(hits))
	for i, near := range hits {
		list[i] = found{Query: q.Path(i), Neighbors: []neighbor{}}
		for _, h := range near {
			n := neighbor{Row: h.Row, Path: g.Path(h.Row), Class: g.Class(h.Row), Distance: h.Distance}
			if m.Threshold != nil {
				same := h.Distance <= m.Threshold.Distance
				n.Same = &same
			}
			list[i].Neighbors = append(list[i].Neighbors, n)
		}
	}
	return list, nil
}

// open finds the gallery.
func (f *searchFlags) open(ctx context.Context, folder run.Folder, eng engine.Engine, info gallery.Info) (*gallery.Table, error) {
	path := f.gallery
	if path == "" {
		path = string(folder)
	}
	if _, err := os.Stat(filepath.Join(path, run.ConfigFile)); err != nil {
		if f.gallery == "" {
			return nil, err
		}
		t, err := gallery.Find(path)
		if err == nil && t.Model == "" {
			f.sel.Events.Warn("%s does not say which model made its rows: they are taken for this run's", path)
		}
		return t, err
	}
	theirs, err := runInfo(run.Folder(path), eng, f.sel.Choice, f.sel.Crops)
	if err != nil {
		return nil, err
	}
	if theirs != info {
		return nil, fmt.Errorf("%s: the run has another model; search its images with --data and their specification", path)
	}
	return embedSplit(ctx, run.Folder(path), eng, f.sel, false)
}

func printFound(w io.Writer, list []found) error {
	var err error
	for i, q := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, nametext.Show(q.Query))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for rank, n := range q.Neighbors {
			mark := ""
			if n.Same != nil && *n.Same {
				mark = "same"
			}
			fmt.Fprintf(t, "%4d\t%s\t%s\t%s\t%s\n", rank+1, distanceText(n.Distance), mark, nametext.Show(n.Class), nametext.Show(n.Path))
		}
		err = errors.Join(err, t.Flush())
	}
	return err
}
