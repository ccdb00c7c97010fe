package tabular

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/linear"
)

func newCompare(log *logrus.Logger) *cobra.Command {
	t, f := &cli.TableFlags{}, &cli.ComparisonFlags{}
	var opt linear.Trials
	var noise string
	cmd := &cobra.Command{
		Use:   "compare TABLE...",
		Short: "Compare learners on tables over random splits",
		Long: `Split each table at random several times, learn a metric with every method from
the training part, and print the k-NN error on the test part: mean and standard
deviation over the splits, which are the same for all methods. Encoding and
standardization come from the training part alone. Wins, ties and losses are by
paired t-tests over the splits.`,
		Example: `  vernier linear compare vehicle.csv vowel.csv
  vernier linear compare german.csv --learners euclidean,lmnn,itml,brm-r --trials 10 --markdown german.md --plot german.png`,
		Args: cli.Takes(true, "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Complete()
			candidates, err := f.Complete()
			if err != nil {
				return err
			}
			opt.Trials, opt.Seed, opt.Encode, opt.Components = f.Trials, t.Seed, t.Encode, t.Components
			opt.Noise.Kind = linear.NoiseKind(noise)
			return cli.WithCPU(t.Threads, func(eng linear.Engine) error {
				opt.Engine = eng
				var tables []*linear.Table
				for _, path := range args { // mistakes show before the first is compared
					table, err := t.Table(log, path, true)
					if err != nil {
						return err
					}
					tables = append(tables, table)
				}
				var done []*linear.Comparison
				for _, table := range tables {
					c, err := cli.Compare(cmd, log, table, candidates, opt)
					if err != nil {
						return err
					}
					done = append(done, c)
				}
				return f.Report(cmd.OutOrStdout(), "k-NN error after each method", done)
			})
		},
	}
	t.Add(cmd)
	f.Add(cmd, []string{"euclidean", "lda", "gmml", "itml", "lmnn", "brm-c", "brm-r"}, []string{"brm-r"})
	fl := cmd.Flags()
	fl.Float64Var(&opt.Train, "train-share", .8, "share of the rows that train")
	fl.IntVar(&opt.K, "k", 5, "number of nearest neighbors that vote")
	fl.StringVar(&noise, "noise", "", "corrupt test rows: gaussian or impulse")
	fl.Float64Var(&opt.Noise.Level, "noise-level", .1, "variance of gaussian noise, or share of features that impulses replace")
	fl.BoolVar(&opt.Noise.OnTrain, "noise-on-train", false, "corrupt training rows too")
	return cmd
}
