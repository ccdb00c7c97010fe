package tabular

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/linear"
)

func newFit(log *logrus.Logger) *cobra.Command {
	f := &cli.TableFlags{}
	var learner, out string
	var params []string
	cmd := &cobra.Command{
		Use:   "fit TABLE --out MODEL",
		Short: "Learn a metric from all rows of a table",
		Long: `Learn a metric from all rows of a table and write it, with the encoding of the
columns, as a JSON file. Rows without label are kept out of what needs labels.`,
		Example: `  vernier linear fit vehicle.csv --out vehicle.json
  vernier linear fit german.csv --learner lmnn --param k=5 --out german.json
  vernier linear fit rows.csv.gz --label kind --missing median --learner brm-c --param restriction=softsign --out rows.json`,
		Args: cli.Takes(false, "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Complete()
			if out == "" {
				return cli.Usagef("--out is missing: where to write the model")
			}
			return cli.WithCPU(f.Threads, func(eng linear.Engine) error {
				l, err := newLearner(learner, params, linear.Env{Seed: f.Seed, Engine: eng})
				if err != nil {
					return err
				}
				t, err := f.Table(log, args[0], true)
				if err != nil {
					return err
				}
				rows := everyRow(t.Rows())
				e, err := linear.FitEncoder(t, rows, f.Encode)
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				log.Info(featureText(e.Names()))
				cli.WarnConstant(log, e.Constant)
				x, err := e.Encode(t, rows)
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				var project *mat.Dense
				if f.Components > 0 {
					if project, err = linear.Principal(x, f.Components); err != nil {
						return err
					}
					if got, d := project.RawMatrix().Rows, x.RawMatrix().Cols; got < f.Components {
						log.Warnf("--components %d: the training rows have %d columns and vary in %s only: %s", f.Components, d, plural.Of(got, "direction"), "these are all taken")
					}
					var z mat.Dense
					z.Mul(x, project.T())
					x = &z
				}
				r, err := l.Fit(cmd.Context(), &linear.Problem{X: x, Labels: t.Labels, Classes: t.Classes})
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				for _, n := range r.Notes {
					log.Warn(n)
				}
				m := linear.NewModel(t, e, project, r)
				if err := wholefile.Write(out, m.Write); err != nil {
					return err
				}
				known, _ := labeled(t)
				k := min(5, len(known)-1)
				share, n, err := knnError(cmd.Context(), eng, m.Result(), e, t, k)
				if err != nil {
					return err
				}
				log.Infof("%s learned %s from %s in %s (converged: %v)", r.Learner, m.Metric, plural.Of(t.Rows(), "row"), plural.Of(r.Iterations, "step"), r.Converged)
				if m.ObjectiveEnd != nil {
					log.Infof("objective %.6g at the start, %.6g at the end", *m.ObjectiveStart, *m.ObjectiveEnd)
				}
				log.Infof("%d-NN error on the %s it was learned from, each against the others: %.2f%% (see linear compare for unseen rows)", k, plural.Of(n, "row"), 100*share)
				log.Infof("wrote %s", out)
				return nil
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&learner, "learner", "brm-r", "learner; vernier linear list shows them")
	cmd.Flags().StringArrayVar(&params, "param", nil, "setting of the learner as name=value; may be repeated")
	cmd.Flags().StringVar(&out, "out", "", "model file to write, in JSON")
	return cmd
}
