// Command vernier learns, measures and exports metrics. See README.md.
package main

import (
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/galleries"
	"github.com/vernier-ml/vernier/cmd/internal/tabular"
	"github.com/vernier-ml/vernier/cmd/internal/tuning"
	"github.com/vernier-ml/vernier/internal/bench"
)

func main() {
	if code, is := bench.AsPeer(); is {
		os.Exit(code)
	}
	program().Main()
}

// program is vernier with all of its commands.
func program() *cli.Program {
	return &cli.Program{Root: newRoot, Limits: flagLimits(), Flag: flagOf, Hint: hint, Advice: advice}
}

func newRoot(log *logrus.Logger) *cobra.Command {
	root := &cobra.Command{
		Use:   "vernier",
		Short: "Deep metric learning: images in, a measured and exported metric out",
		Long: `Vernier learns a metric: an embedding of images in which distance means
"same kind of thing". It trains on labeled images, measures Recall@K and NMI on
classes never seen, and exports the embedding. Its own metric is the
boundary-restricted one (BRM); Euclidean and cosine are there beside it.`,
		Example: `  vernier train --data glyphs --out runs/first
  vernier eval runs/first
  vernier embed runs/first photo.jpg`,
	}
	root.AddCommand(
		newTrain(log), newPresets(), newSweep(log), tuning.New(log, newReporter), newCompare(log),
		newEval(log), newEmbed(log), newExport(log), newVerify(log), newIndex(log), newSearch(log),
		galleries.New(log, newReporter, newGalleryImages(log)),
		newReport(log), newServe(log),
		newData(log), newWeights(log), newLosses(), newMetrics(),
		tabular.New(log),
		newBench(log), newDoctor(),
	)
	return root
}
