package main

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// knownCommand suggests what may have been meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return usagef("unknown command %q%s", args[0], nearest.Hint(args[0], names))
}

func newRoot(log *logrus.Logger) *cobra.Command {
	root := &cobra.Command{
		Use:   "vernier",
		Short: "Deep metric learning: images in, a measured and exported metric out",
		Long: `Vernier learns a metric: an embedding of images in which distance means
"same kind of thing". It trains on labelled images, measures Recall@K and NMI on
classes never seen, and exports the embedding. Its own metric is the
boundary-restricted one (BRM); Euclidean and cosine are there beside it.`,
		Example: `  vernier train --data glyphs --out runs/first
  vernier eval runs/first
  vernier embed runs/first photo.jpg`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	quiet := root.PersistentFlags().BoolP("quiet", "q", false, "no progress and no remarks: results and errors only")
	root.PersistentPreRun = func(*cobra.Command, []string) {
		if *quiet {
			log.SetLevel(logrus.WarnLevel)
		}
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newTrain(log), newPresets(), newSweep(log), newCompare(log),
		newEval(log), newEmbed(log), newExport(log), newVerify(log), newIndex(log), newSearch(log),
		newReport(log), newServe(log),
		newData(log), newWeights(), newLosses(), newMetrics(),
		newLinear(log), newReproduce(log),
		newBench(log), newDoctor(), newVersion(), newMan(),
	)
	limitFlags(root, flagLimits())
	return root
}
