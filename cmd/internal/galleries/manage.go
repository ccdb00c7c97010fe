package galleries

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/plural"
)

// placeFlags say where a gallery is.
type placeFlags struct {
	in     []string
	asJSON bool
}

func (f *placeFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.in, "in", nil, "where the gallery is: "+AddressHelp+"; may be repeated")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
}

// open opens the gallery, whosever rows it has.
func (f *placeFlags) open(cmd *cobra.Command) (gallery.Store, error) {
	if len(f.in) == 0 {
		return nil, cli.Usagef("--in is missing: say where the gallery is, %s", AddressHelp)
	}
	return Open(cmd.Context(), f.in, gallery.Info{}, Options{})
}

func (c *command) remove() *cobra.Command {
	f, where := &placeFlags{}, gallery.Filter{}
	cmd := &cobra.Command{
		Use:   "remove --in ADDRESS [PATH...]",
		Short: "Remove images from a gallery",
		Long: `Remove rows from the gallery at --in: those at the PATHs, as vernier gallery search
prints them, of the given keys, or of the given classes. Of several of these, a row must fit
all. They are gone when the command returns. An index file keeps its size until vernier
gallery compact.`,
		Example: `  vernier gallery remove --in birds.index /photos/robin.jpg
  vernier gallery remove --in postgres://me@db/birds --class robin`,
		Args: cli.Takes(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			where.Paths = distinct(args)
			if where.Empty() {
				return cli.Usagef("which images? Give PATHs, --class or --key")
			}
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			n, err := s.Remove(cmd.Context(), where)
			if err != nil {
				return err
			}
			stats, err := s.Stats(cmd.Context())
			if err != nil {
				return err
			}
			if f.asJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), map[string]any{"removed": n, "gallery": stats})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed %s; %s left\n", plural.Of(n, "row"), plural.Of(stats.Rows, "row"))
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&where.Classes, "class", nil, "remove images of this class; may be repeated for one of several")
	cmd.Flags().StringArrayVar(&where.Keys, "key", nil, "remove the image of this key, the SHA-256 of its file; may be repeated")
	return cmd
}

// infoReport is what info says.
type infoReport struct {
	In    []string      `json:"in"`
	Stats gallery.Stats `json:"gallery"`
	Info  gallery.Info  `json:"info"`
}

func (c *command) info() *cobra.Command {
	f := &placeFlags{}
	cmd := &cobra.Command{
		Use:   "info --in ADDRESS",
		Short: "Say what a gallery holds",
		Long: `Say how many rows the gallery at --in has, of which metric and model, and what they take.
An index file is read as a whole, with its checksums.`,
		Example: `  vernier gallery info --in birds.index
  vernier gallery info --in postgres://me@db/birds --json`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			r := infoReport{In: f.in, Info: s.Info()}
			if r.Stats, err = s.Stats(cmd.Context()); err != nil {
				return err
			}
			if f.asJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), r)
			}
			removed := ""
			if r.Stats.Removed > 0 {
				removed = fmt.Sprintf(" and %d that were removed and take room", r.Stats.Removed)
			}
			size := ""
			if r.Stats.Bytes > 0 { // not every database says
				size = " " + humanize.IBytes(uint64(r.Stats.Bytes)) + ","
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s,%s of %s, compared by %s, of the model with fingerprint %s\nsearched by: %s\n", plural.Of(r.Stats.Rows, "row"), removed,
				size, plural.Of(r.Info.Dim, "number"), r.Info.Metric, r.Info.Model, r.Stats.Index)
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func (c *command) compact() *cobra.Command {
	f := &placeFlags{}
	cmd := &cobra.Command{
		Use:   "compact --in FILE",
		Short: "Give back the room of removed images",
		Long: `Write the index file at --in anew without the rows that were removed or replaced. The new
file takes the place of the old one when it is whole; processes that search or add go on
with it. Databases do the same by themselves.`,
		Example: "  vernier gallery compact --in birds.index",
		Args:    cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.in) != 1 || IsAddress(f.in[0]) {
				return cli.Usagef("--in: want one index file")
			}
			before, after, err := gallery.Compact(f.in[0])
			if err != nil {
				return err
			}
			if f.asJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), map[string]int64{"bytes_before": before, "bytes": after})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, before %s\n", f.in[0], humanize.IBytes(uint64(after)), humanize.IBytes(uint64(before)))
			return err
		},
	}
	f.add(cmd)
	return cmd
}

// errRecall is a gallery that does not find what it should.
var errRecall = errors.New("the nearest images are not all among the candidates: give vernier gallery search and vernier serve more --candidates, or keep the gallery in a file, which is searched exactly")

func (c *command) check() *cobra.Command {
	f := &placeFlags{}
	opt := gallery.RecallOptions{}
	var candidates string
	var least float64
	cmd := &cobra.Command{
		Use:   "check --in ADDRESS",
		Short: "Measure whether a gallery finds the nearest images",
		Long: `Search for a sample of the images of the gallery at --in, once through its index and once
by comparing all rows exactly, and print the share of the nearest images that are found
(recall) for each number of --candidates. All rows are read twice, and few are in memory
at a time. If the recall with the last number is below --at-least, the command fails; what
vernier gallery search and vernier serve ask for by themselves is 400.`,
		Example: `  vernier gallery check --in postgres://me@db/birds
  vernier gallery check --in postgres://me@db/birds --sample 1000 --candidates 100,400,800 --json`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			if opt.Candidates, err = parseCandidates(candidates); err != nil {
				return cli.Usagef("--candidates %q: %w", candidates, err)
			}
			events := c.events(c.log)
			opt.Progress = func(done, total int) { events.Progress("compare", done, total, "") }
			list, n, err := gallery.MeasureRecall(cmd.Context(), s, opt)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if f.asJSON {
				err = cli.WriteJSON(out, map[string]any{"in": f.in, "info": s.Info(), "queries": n, "nearest": opt.K, "recall": list})
			} else {
				fmt.Fprintf(out, "%s, the %d nearest of each\ncandidates  recall  worst query\n", plural.Of(n, "query"), opt.K)
				for _, r := range list {
					_, err = fmt.Fprintf(out, "%10d  %.4f  %.2f\n", r.Candidates, r.Recall, r.Worst)
				}
			}
			if last := list[len(list)-1]; err == nil && last.Recall < least {
				err = fmt.Errorf("recall %.4f with %d candidates is below %g: %w", last.Recall, last.Candidates, least, errRecall)
			}
			return err
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.IntVar(&opt.Sample, "sample", 200, "number of images to search for")
	fl.IntVarP(&opt.K, "nearest", "k", 10, "nearest images of each")
	fl.StringVar(&candidates, "candidates", "100,200,400", "numbers of candidates, separated by commas")
	fl.Float64Var(&least, "at-least", 0.999, "recall below which the command fails")
	return cmd
}
