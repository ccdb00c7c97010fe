package galleries

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/gallery/postgres"
	"github.com/vernier-ml/vernier/internal/plural"
)

// Images embeds images with the model of a run, by flags of a command.
type Images interface {
	// AddPush adds flags that choose images, AddSearch those for queries.
	AddPush(cmd *cobra.Command)
	AddSearch(cmd *cobra.Command)
	// Check says what is wrong with the images that are chosen.
	Check(cmd *cobra.Command, images []string) error
	// Open loads a run's model. Close ends its use.
	Open(cmd *cobra.Command, run string) (Model, error)
}

// Model is the model of a run.
type Model interface {
	Info() gallery.Info
	Engine() eval.Engine
	// Threshold is that of the model, nil for none.
	Threshold() *float64
	// Rows embeds the images that are chosen, with keys, but for those that wanted leaves out
	// of all, which have keys and paths.
	Rows(ctx context.Context, images []string, wanted func(all *gallery.Table) ([]int, error)) (*gallery.Table, error)
	// Queries embeds images.
	Queries(ctx context.Context, images []string) (*gallery.Table, error)
	Close() error
}

type pushFlags struct {
	command
	images Images
	to     []string
	from   int
	memory string
	asJSON bool
}

func (c *command) push() *cobra.Command {
	f := &pushFlags{command: *c, images: c.images()}
	cmd := &cobra.Command{
		Use:   "push RUN --to ADDRESS [IMAGE...]",
		Short: "Embed images and put them into a gallery",
		Long: `Embed images with the model of a run and put them into the gallery at --to, which is
made if it is not there: ` + AddressHelp + `. With
--to several times, rows are spread over all by their keys. Which images: the IMAGEs
(files, folders, archives), those of --data SPEC, those of the run's own --split, all
with their classes where these are known; or rows that are embedded already, by --from.

Images that the gallery has are not embedded again. The rows come into each address as a
whole: a push that is killed leaves all of them there or none, and the same command
again does what is left to do. A database gets its index after the rows, when there are
--index-from of them; how much of the server's memory that needs is said before.`,
		Example: `  vernier gallery push runs/birds --to birds.index photos/
  vernier gallery push runs/birds --to postgres://me@db/birds?table=robins --data folder:photos
  vernier gallery push runs/birds --to postgres://me@db1/birds --to postgres://me@db2/birds --split all`,
		Args: cli.Takes(true, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.to, "to", nil, "where the gallery is: "+AddressHelp+"; may be repeated")
	fl.IntVar(&f.from, "index-from", postgres.DefaultIndexFrom, "number of rows from which on a database gets an index")
	fl.StringVar(&f.memory, "index-memory", humanize.IBytes(postgres.DefaultIndexMemory), "memory that a server may take while it makes the index")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	f.images.AddPush(cmd)
	return cmd
}

// pushed is what push says.
type pushed struct {
	To []string `json:"to"`
	gallery.Changes
	Stats gallery.Stats `json:"gallery"`
	Info  gallery.Info  `json:"info"`
}

func (f *pushFlags) run(cmd *cobra.Command, args []string) error {
	if len(f.to) == 0 {
		return cli.Usagef("--to is missing: say where the gallery is, %s", AddressHelp)
	}
	if err := f.images.Check(cmd, args[1:]); err != nil {
		return err
	}
	memory, err := parseBytes(f.memory)
	if err != nil {
		return cli.Usagef("--index-memory %q: %w", f.memory, err)
	}
	m, err := f.images.Open(cmd, args[0])
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, events := cmd.Context(), f.events(f.log)
	opt := Options{Engine: m.Engine()}
	opt.Postgres = postgres.Options{IndexFrom: f.from, IndexMemory: memory, Notice: func(text string) { events.Say("%s", text) }}
	s, err := Open(ctx, f.to, m.Info(), opt)
	if err != nil {
		return err
	}
	defer s.Close()
	r := pushed{To: f.to, Info: m.Info()}
	had := 0
	t, err := m.Rows(ctx, args[1:], func(all *gallery.Table) ([]int, error) {
		rows, err := unknown(ctx, s, all)
		had = all.N - len(rows)
		return rows, err
	})
	if err != nil {
		return err
	}
	if r.Changes, err = s.Upsert(ctx, t); err != nil {
		return err
	}
	r.Unchanged += had
	if r.Stats, err = s.Stats(ctx); err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd.OutOrStdout())
}

// unknown is the rows that a store does not have, or under another path or class.
func unknown(ctx context.Context, s gallery.Store, all *gallery.Table) ([]int, error) {
	var rows []int
	const some = 10_000
	for from := 0; from < all.N; from += some {
		to := min(from+some, all.N)
		known, err := s.Known(ctx, all.Keys[from:to])
		if err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			label, there := known[all.Keys[i]]
			class := all.Class(i)
			if !there || label.Path != all.Path(i) || class != "" && class != label.Class {
				rows = append(rows, i)
			}
		}
	}
	return rows, nil
}

func (r pushed) print(w io.Writer) error {
	text := fmt.Sprintf("added %s", plural.Of(r.Added, "row"))
	for _, c := range []struct {
		n    int
		what string
	}{{r.Replaced, "replaced %d"}, {r.Unchanged, "left out %d that it has already"}, {r.Repeated, "left out %d that were given twice"}} {
		if c.n > 0 {
			text += ", " + fmt.Sprintf(c.what, c.n)
		}
	}
	_, err := fmt.Fprintf(w, "%s; it has %s of %s, compared by %s\n", text, plural.Of(r.Stats.Rows, "row"), plural.Of(r.Info.Dim, "number"), r.Info.Metric)
	return err
}

// distinct are texts without repetition.
func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
