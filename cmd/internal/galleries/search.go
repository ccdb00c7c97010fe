package galleries

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

type searchFlags struct {
	command
	images        Images
	in, queries   []string
	classes       []string
	k, candidates int
	asJSON        bool
}

func (c *command) search() *cobra.Command {
	f := &searchFlags{command: *c, images: c.images()}
	cmd := &cobra.Command{
		Use:   "search RUN --in ADDRESS --query IMAGE...",
		Short: "Find the images of a gallery that are nearest to given ones",
		Long: `Embed the query images with the model of a run and print the nearest images of the
gallery at --in, by the run's metric: ` + AddressHelp + `.
With --in several times, all are searched and the answers merged. With --class, only images
of that class are found; there are --nearest of them, unless the gallery has fewer.

A file is searched exactly. A database is asked for --candidates of each query, of which
the nearest by the run's metric are printed. If the model has a threshold (vernier verify
--calibrate ... --store), the images within it are marked as the same.`,
		Example: `  vernier gallery search runs/birds --in birds.index --query robin.jpg -k 5
  vernier gallery search runs/birds --in postgres://me@db/birds --query robin.jpg --class robin --json`,
		Args: cli.Takes(true, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.in, "in", nil, "where the gallery is: "+AddressHelp+"; may be repeated")
	fl.StringArrayVar(&f.queries, "query", nil, "image, folder or archive to search for; more may follow")
	fl.IntVarP(&f.k, "nearest", "k", 10, "number of images to find")
	fl.StringArrayVar(&f.classes, "class", nil, "find only images of this class; may be repeated for one of several")
	fl.IntVar(&f.candidates, "candidates", 0, "rows that a database is asked for (default 400, or 20 for each of --nearest)")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	f.images.AddSearch(cmd)
	return cmd
}

// found is what search says of a query.
type found struct {
	Query     string  `json:"query"`
	Neighbors []match `json:"neighbors"`
}

type match struct {
	gallery.Match
	Same *bool `json:"same,omitempty"` // by the model's threshold
}

func (f *searchFlags) run(cmd *cobra.Command, args []string) error {
	queries := append(f.queries, args[1:]...)
	switch {
	case len(f.in) == 0:
		return cli.Usagef("--in is missing: say where the gallery is, %s", AddressHelp)
	case len(queries) == 0:
		return cli.Usagef("--query is missing: say which images to search for")
	}
	m, err := f.images.Open(cmd, args[0])
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	s, err := Open(ctx, f.in, m.Info(), Options{Engine: m.Engine()})
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := m.Queries(ctx, queries)
	if err != nil {
		return err
	}
	list, err := gallery.Search(ctx, s, q.Embeddings, m.Info(), f.k, gallery.SearchOptions{Where: gallery.Filter{Classes: f.classes}, Candidates: f.candidates})
	if err != nil {
		return err
	}
	all := make([]found, len(list))
	for i, near := range list {
		all[i] = found{Query: q.Path(i), Neighbors: []match{}}
		for _, x := range near {
			n := match{Match: x}
			if limit := m.Threshold(); limit != nil {
				same := x.Distance <= *limit
				n.Same = &same
			}
			all[i].Neighbors = append(all[i].Neighbors, n)
		}
	}
	if len(list[0]) < f.k {
		what := "the gallery has"
		if len(f.classes) > 0 {
			what = "of the classes asked for the gallery has"
		}
		f.events(f.log).Warn("--nearest %d: %s %s", f.k, what, plural.Of(len(list[0]), "image"))
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), all)
	}
	return printFound(cmd.OutOrStdout(), all)
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
			name := n.Path
			if name == "" {
				name = n.Key
			}
			fmt.Fprintf(t, "%4d\t%s\t%s\t%s\t%s\n", rank+1, strconv.FormatFloat(n.Distance, 'g', 5, 64), mark, nametext.Show(n.Class), nametext.Show(name))
		}
		err = errors.Join(err, t.Flush())
	}
	return err
}
