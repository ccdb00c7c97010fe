package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/linear"
)

func newBRMFig8(log *logrus.Logger) *cobra.Command {
	f := &cli.TableFlags{}
	var learners []string
	var pairs int
	var out string
	cmd := &cobra.Command{
		Use:   "brm-fig8 TABLE",
		Short: "ROC curves and AUC of verification by each metric (BRM Fig. 8)",
		Long: `Learn a metric with each method from 80% of the rows of a table, tell similar from
dissimilar pairs of the other rows by it, and print the area under the ROC curve
and the equal error rate. --out draws the curves.

The paper does this with attributes of PubFig faces and features of MVS patches,
neither of which is to be had in that form; any table of features with labels
takes their place here.`,
		Example: "  vernier-papers brm-fig8 faces.csv.gz --components 100 --out fig8.png",
		Args:    cli.Takes(false, "TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Complete()
			candidates, err := experimentCandidates(learners)
			if err != nil {
				return err
			}
			t, err := linear.ReadTableFile(args[0], f.Read)
			if err != nil {
				return err
			}
			return cli.WithCPU(f.Threads, func(eng linear.Engine) error {
				curves, err := linear.Verify(cmd.Context(), t, candidates, pairs, linear.Trials{Seed: f.Seed, Encode: f.Encode, Components: f.Components, Engine: eng})
				if err != nil {
					return err
				}
				tab := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
				fmt.Fprintln(tab, "method\tAUC\tequal error\tTAR at FAR 1%\t")
				var rocs []*eval.ROC
				for i, c := range curves {
					eer, _ := c.EER()
					tar, _ := c.TARAt(.01)
					fmt.Fprintf(tab, "%s\t%.4f\t%.4f\t%.4f\t\n", learners[i], c.AUC(), eer, tar)
					rocs = append(rocs, c)
				}
				if err := tab.Flush(); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "\n%s: %d similar and %d dissimilar pairs of rows that training did not see\n", t.Name, pairs, pairs)
				if out == "" {
					return nil
				}
				if err := plot.PNG(out, plot.ROC{Metric: "the learned distance", Names: learners, Curves: rocs}); err != nil {
					return err
				}
				log.Infof("drew %s", out)
				return nil
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringSliceVar(&learners, "learners", []string{"euclidean", "lmnn", "itml", "gmml", "brm-c", "brm-r"}, "learners to compare, separated by commas")
	cmd.Flags().IntVar(&pairs, "pairs", 10000, "pairs of each kind to test on")
	cmd.Flags().StringVar(&out, "out", "", "PNG file to draw")
	return cmd
}
