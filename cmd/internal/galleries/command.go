package galleries

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// command is what all of them share.
type command struct {
	log    *logrus.Logger
	events func(*logrus.Logger) *cli.Reporter
	images func() Images
}

// New returns the command. images makes what embeds images for a command of its own flags,
// events what reports.
func New(log *logrus.Logger, events func(*logrus.Logger) *cli.Reporter, images func() Images) *cobra.Command {
	c := &command{log, events, images}
	cmd := &cobra.Command{
		Use:   "gallery",
		Short: "Keep embeddings where they are searched, added, replaced and removed",
		Long: `A gallery is a file (an index, as vernier index makes it), a table of PostgreSQL with
the extension pgvector, a collection of Weaviate, which spreads its rows over the nodes of a
cluster by itself, or several of these, over which its rows are spread by their keys.
It is of one model: rows and queries of another one are refused.

An image is known by the SHA-256 of its file: the same image under another path is the
same row, and an image that has changed takes the place of what was at its path.

A file is searched exactly. A database finds candidates fast, by Euclidean distance of the
embeddings (by cosine or inner product where that is the metric); every distance that is
shown is computed by the model's own metric, and vernier gallery check measures whether the
nearest are among the candidates. A password comes from PGPASSWORD, or from the file that
PGPASSFILE names, a key of Weaviate from WEAVIATE_API_KEY or the file that
WEAVIATE_API_KEY_FILE names; neither may stand in an address.`,
		Example: `  vernier gallery push runs/birds --to birds.index photos/
  vernier gallery push runs/birds --to postgres://me@db/birds --data folder:photos
  vernier gallery search runs/birds --in postgres://me@db/birds --query robin.jpg --class robin
  vernier gallery check --in postgres://me@db/birds`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Usagef("which? push, search, remove, info, check, compact or pairs")
		},
	}
	cmd.AddCommand(c.push(), c.search(), c.remove(), c.info(), c.check(), c.compact(), c.pairs())
	return cmd
}

// Limits are what the commands' flags take.
func Limits() map[string]cli.Limit {
	count := cli.Whole(1, math.MaxInt32)
	return map[string]cli.Limit{
		"gallery push --index-from": count, "gallery push --index-memory": cli.Parsed(parseBytes),
		"gallery search --nearest": cli.Whole(1, maxNearest), "gallery search --candidates": cli.Whole(0, maxNearest),
		"gallery check --nearest": cli.Whole(1, maxNearest), "gallery check --candidates": cli.Parsed(parseCandidates),
		"gallery check --sample":   cli.Whole(1, 100_000),
		"gallery check --at-least": cli.Number("a share from 0 to 1", func(v float64) bool { return v >= 0 && v <= 1 }),
	}
}

// maxNearest bounds neighbors and candidates of a query.
const maxNearest = 100_000

// parseCandidates reads numbers of candidates, as 10,50.
func parseCandidates(text string) ([]int, error) {
	var list []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > maxNearest {
			return nil, errors.New("want whole numbers, separated by commas, from 1 to " + strconv.Itoa(maxNearest))
		}
		list = append(list, n)
	}
	return list, nil
}

// parseBytes reads a size, as 500MB or 2GiB.
func parseBytes(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n < 1<<20 || n > 1<<46 {
		return 0, errors.New("want a size from 1MiB on, such as 500MB or 2GiB")
	}
	return int64(n), nil
}
