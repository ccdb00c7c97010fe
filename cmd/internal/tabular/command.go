package tabular

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

// New returns the command.
func New(log *logrus.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "linear",
		Short: "Learn linear metrics on tables: LMNN, ITML, NCA, GMML, BRM and more",
		Long: `Learn a linear map of the rows of a table after which distance means "same class",
apply it, and compare learners over random splits.

A table is a text file: CSV, cells separated by semicolons, tabs, bars or blanks, or
ARFF, in UTF-8, UTF-16 or Latin-1, compressed by gzip or not. Numbers have decimal
points, or all of them decimal commas. A first column without a name that numbers
the rows is left out.

The label is the column of --label, else one that is called label, class or target,
else the last one if it holds words, or whole numbers of which each comes back twice
on average; any other table is refused, with the names of its columns.

All of it computes on the CPU.`,
		Example: `  vernier linear compare vehicle.csv --learners euclidean,lda,lmnn,brm-r
  vernier linear fit vehicle.csv --learner brm-r --out vehicle.json
  vernier linear transform vehicle.json new.csv --out mapped.csv`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFit(log), newEval(log), newCompare(log), newTransform(log), newList())
	return cmd
}

func newList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the learners and their settings",
		Long:    "List what --learner takes, and the settings of each that --param takes.",
		Example: "  vernier linear list",
		Args:    cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			for _, name := range linear.Names() {
				l, err := linear.New(name, linear.Env{})
				if err != nil {
					return err
				}
				fmt.Fprintf(t, "%s\t%s\n", name, strings.Join(linear.Settings(l), " "))
			}
			return t.Flush()
		},
	}
}

// featureText lists the encoded columns that a metric is learned on.
func featureText(names []string) string {
	const shown = 20
	text := plural.Of(len(names), "feature") + ": "
	if len(names) > shown {
		return text + strings.Join(names[:shown], ", ") + fmt.Sprintf(", ... and %d more", len(names)-shown)
	}
	return text + strings.Join(names, ", ")
}

// parseParams reads settings given as name=value.
func parseParams(params []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.Usagef("--param %q: want name=value", p)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

// newLearner returns the learner of that name with settings changed.
func newLearner(name string, params []string, env linear.Env) (linear.Learner, error) {
	settings, err := parseParams(params)
	if err != nil {
		return nil, err
	}
	l, err := linear.New(name, env)
	if err == nil {
		l, err = linear.Configure(l, settings)
	}
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	return l, nil
}

func readModel(path string) (*linear.Model, error) {
	f, err := wholefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := linear.ReadModel(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// everyRow lists 0..n-1.
func everyRow(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// labeled returns the rows of known label and their labels.
func labeled(t *linear.Table) (rows, labels []int) {
	for i, y := range t.Labels {
		if y != linear.Unknown {
			rows = append(rows, i)
			labels = append(labels, y)
		}
	}
	return rows, labels
}

// knnError is the share of labeled rows that their K nearest other rows get
// wrong.
func knnError(ctx context.Context, eng linear.Engine, r *linear.Result, e *linear.Encoder, t *linear.Table, k int) (float64, int, error) {
	rows, labels := labeled(t)
	x, err := e.Encode(t, rows)
	if err != nil {
		return 0, 0, err
	}
	got, err := linear.KNN{K: k, Engine: eng}.LeaveOneOut(ctx, r, x, labels)
	if err != nil {
		return 0, 0, err
	}
	wrong := 0
	for i, y := range got {
		if y != labels[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(got)), len(got), nil
}
