package tabular

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/linear"
)

// figures are what eval prints.
type figures struct {
	Model     string  `json:"model"`
	Table     string  `json:"table"`
	Metric    string  `json:"metric"`
	Rows      int     `json:"rows"`
	K         int     `json:"k"`
	Error     float64 `json:"knn_error_percent"`
	Against   string  `json:"neighbours_from"`
	Pairs     int     `json:"pairs"`
	AUC       float64 `json:"auc"`
	EER       float64 `json:"eer"`
	Threshold float64 `json:"eer_threshold"`
}

func newEval(log *logrus.Logger) *cobra.Command {
	f := &cli.TableFlags{}
	var asJSON bool
	var k, pairs int
	var train string
	cmd := &cobra.Command{
		Use:   "eval MODEL TABLE",
		Short: "Measure a learned metric on a table",
		Long: `Measure the k-NN error of a metric on the labeled rows of a table, and how well
distance tells similar from dissimilar pairs of its rows. Neighbors are the
other rows of the table, or those of --train.`,
		Example: `  vernier linear eval vehicle.json new.csv --train vehicle.csv
  vernier linear eval vehicle.json new.csv --json`,
		Args: cli.Takes(false, "MODEL", "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Complete()
			m, err := readModel(args[0])
			if err != nil {
				return err
			}
			t, err := f.Table(log, args[1], false)
			if err != nil {
				return err
			}
			r := m.Result()
			fig := figures{Model: args[0], Table: t.Name, Metric: m.Metric.String(), K: k, Against: "the other rows of the table"}
			err = cli.WithCPU(f.Threads, func(eng linear.Engine) error {
				var share float64
				if train == "" {
					if rows, _ := labeled(t); k >= len(rows) {
						return cli.Usagef("--k %d: a labeled row has %s", k, plural.Of(len(rows)-1, "other"))
					}
					share, fig.Rows, err = knnError(cmd.Context(), eng, r, m.Encoder, t, k)
				} else {
					fig.Against = train
					share, fig.Rows, err = against(f, cmd, log, eng, m, r, train, t, k)
				}
				fig.Error = 100 * share
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if err := fig.verify(m, r, t, pairs, f.Seed); err != nil {
				return fmt.Errorf("%s: %w", args[1], err)
			}
			if asJSON {
				return cli.WriteJSON(cmd.OutOrStdout(), fig)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s (%s) on %s, %s\n%d-NN error      %6.2f%%  neighbors from %s\nAUC of pairs    %6.4f   %d similar and %d dissimilar\nequal error     %6.4f   at distance %.6g\n",
				m.Learner, fig.Metric, t.Name, plural.Of(fig.Rows, "row"), k, fig.Error, fig.Against, fig.AUC, pairs, pairs, fig.EER, fig.Threshold)
			return err
		},
	}
	f.AddRead(cmd)
	cmd.Flags().Uint64Var(&f.Seed, "seed", 0, "seed of the drawn pairs")
	cmd.Flags().IntVar(&k, "k", 5, "number of nearest neighbors that vote")
	cmd.Flags().IntVar(&pairs, "pairs", 10000, "pairs of each kind to draw")
	cmd.Flags().StringVar(&train, "train", "", "table among whose rows the nearest neighbors are looked for")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// against measures rows of t by their neighbors in another table.
func against(f *cli.TableFlags, cmd *cobra.Command, log *logrus.Logger, eng linear.Engine, m *linear.Model, r *linear.Result, train string, t *linear.Table, k int) (float64, int, error) {
	g, err := f.Table(log, train, false)
	if err != nil {
		return 0, 0, err
	}
	galleryRows, galleryLabels := labeled(g)
	if k > len(galleryRows) {
		return 0, 0, cli.Usagef("--k %d: %s has %s", k, train, plural.Of(len(galleryRows), "labeled row"))
	}
	rows, labels := labeled(t)
	x, err := m.Encoder.Encode(g, galleryRows)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", train, err)
	}
	q, err := m.Encoder.Encode(t, rows)
	if err != nil {
		return 0, 0, err
	}
	got, err := linear.KNN{K: k, Engine: eng}.Predict(cmd.Context(), r, x, galleryLabels, q)
	if err != nil {
		return 0, 0, err
	}
	wrong := 0
	for i, y := range got {
		if g.Classes[y] != t.Classes[labels[i]] { // tables number their classes on their own
			wrong++
		}
	}
	return float64(wrong) / float64(len(got)), len(got), nil
}

// verify measures pairs.
func (fig *figures) verify(m *linear.Model, r *linear.Result, t *linear.Table, pairs int, seed uint64) error {
	rows, labels := labeled(t)
	x, err := m.Encoder.Encode(t, rows)
	if err != nil {
		return err
	}
	similar, dissimilar, err := linear.SamplePairs(labels, pairs, seed)
	if err != nil {
		return err
	}
	y := make([]int, 2*pairs)
	for i := range y {
		y[i] = 1
		if i >= pairs {
			y[i] = -1
		}
	}
	roc, err := r.ROC(x, append(similar, dissimilar...), y)
	if err != nil {
		return err
	}
	fig.Pairs, fig.AUC = pairs, roc.AUC()
	fig.EER, fig.Threshold = roc.EER()
	return nil
}
