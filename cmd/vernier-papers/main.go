// Command vernier-papers repeats the experiments of the papers that package vernier's metrics
// and layers are from, and prints its figures beside the published ones.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/linear"
)

func main() { program().Main() }

// program is vernier-papers with all of its commands.
func program() *cli.Program {
	return &cli.Program{Root: newRoot, Limits: flagLimits(), Flag: flagOf, Hint: hint}
}

func newRoot(log *logrus.Logger) *cobra.Command {
	root := &cobra.Command{
		Use:   "vernier-papers",
		Short: "Repeat the experiments of papers on metric learning",
		Long: `Repeat the experiments of the paper on boundary-restricted metrics (BRM), of the
textbook chapter on linear metrics, and of the paper on geometry flow (DRML, Li et
al. 2023), and print figures beside the published ones. What the sources leave
open, and which data differ from theirs, is said with the figures.

The experiments with linear metrics compute on the CPU, those with geometry flow on
what --device says. The program vernier trains and measures models of your own.`,
		Example: `  vernier-papers chapter63 --out runs/chapter63
  vernier-papers brm-table2 --out runs/table2
  vernier-papers brm-table3 --data tables --mnist mnist --trials 20
  vernier-papers drml-tables --data cub200:CUB_200_2011 --weights bn_inception-52deb4733.pth --out runs/drml`,
	}
	root.AddCommand(newBRMTable2(log), newBRMTable3(log), newBRMFig8(log), newBRMFig11(log), newChapter63(log),
		newDRMLTables(log), newDRMLAblation(log))
	return root
}

// flagLimits are what flags take, by their names, or by "COMMAND --NAME" where one name
// means several things.
func flagLimits() map[string]cli.Limit {
	var tables []string
	for _, p := range paperTables() {
		tables = append(tables, p.name)
	}
	all := cli.CommonLimits()
	maps.Copy(all, map[string]cli.Limit{
		"brm-fig8 --out": cli.PNGFile, "--pairs": cli.Whole(1, 100_000_000),
		"brm-table2 --trials": cli.Whole(2, 100_000), "--tables": cli.EachAmong(tables...), "--penalty": cli.NotNegative,
		"--presets": cli.Among(drmlFamilies...), "--parts": cli.EachAmong(drmlParts...), "--losses": cli.EachAmong(drmlLosses...),
		"--variants": cli.EachAmong(drmlVariants...), "--rates": cli.Positive,
	})
	return all
}

// flagOf calls a setting by its flag. Most settings have none here: --set takes them by the
// name that they keep.
func flagOf(name setting.Name) string {
	switch name {
	case "data.spec":
		return "--data"
	case "weights.path":
		return "--weights"
	case "precision":
		return "--precision"
	}
	return string(name)
}

// hint names the flags that help with an error.
func hint(err error) string {
	switch {
	case errors.Is(err, linear.ErrMissing):
		return "; brm-fig8 puts something in such places with --missing mean or --missing median"
	case errors.Is(err, linear.ErrNoLabel):
		return "; brm-fig8 takes its name with --label"
	}
	return cli.TableHint(err)
}

// outFolder makes the folder of an experiment's files, if one was asked for.
func outFolder(out string) error {
	if out == "" {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
