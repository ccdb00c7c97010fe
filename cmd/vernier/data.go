package main

import (
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/run/pairs"
)

func newData(log *logrus.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, check, fetch, make and prepare data sets",
		Long:  "List the kinds of data sets that --data takes, check one before training on it,\nfetch or make one, and decode one beforehand.",
		Example: `  vernier data list
  vernier data check folder:birds.zip
  vernier data get omniglot`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDataList(), newDataCheck(log), newDataGet(log), newDataMake(log), newDataPrepare(log))
	return cmd
}

func newDataList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the kinds of data sets",
		Long:    "List what --data takes and what each kind expects on disk.",
		Example: "  vernier data list",
		Args:    cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printKinds(cmd.OutOrStdout())
		},
	}
}

func newDataCheck(log *logrus.Logger) *cobra.Command {
	var asJSON bool
	var split string
	var seed uint64
	var maxPixels int64
	var marked string
	cmd := &cobra.Command{
		Use:   "check SPEC",
		Short: "Decode every image of a data set and report what is wrong",
		Long: `Decode every image and report unreadable files, classes with a single image,
duplicates within and across classes and splits, and counts. The exit code is 1
if something is wrong.

--pairs looks at a file of pairs as well, before the images: which lines name images that
the set does not have, contradict other lines, or contradict the classes of the set.`,
		Example: `  vernier data check glyphs
  vernier data check folder:birds.zip --train-classes 0.7 --json`,
		Args: cli.Takes(false, "SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := data.ParseSplit(split, seed)
			if err != nil {
				return fmt.Errorf("--train-classes: %w", err)
			}
			report := newReporter(log)
			set, err := data.Open(cmd.Context(), args[0], data.Options{Decode: pixels.Options{MaxPixels: maxPixels}, Progress: report.Listing})
			if err != nil {
				return err
			}
			defer set.Close()
			var warnings, problems []string
			if marked != "" {
				if warnings, problems, err = checkPairs(marked, set); err != nil {
					return err
				}
			}
			r, err := data.CheckSet(cmd.Context(), set, data.CheckOptions{
				Split:    &spec,
				Progress: func(done, total int) { report.Progress("decoding", done, total, "") },
			})
			if err != nil {
				return err
			}
			r.Warnings, r.Problems = append(r.Warnings, warnings...), append(r.Problems, problems...)
			if asJSON {
				err = cli.WriteJSON(cmd.OutOrStdout(), r)
			} else {
				err = printReport(cmd.OutOrStdout(), r)
			}
			if err == nil && !r.OK() {
				err = fmt.Errorf("%s: something is wrong, see the lines that begin with \"problem:\"", r.Set)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().StringVar(&marked, "pairs", "", "also look at the pairs of images in this CSV `FILE`, as vernier train --pairs takes it")
	cmd.Flags().StringVar(&split, "train-classes", "auto", "which classes are for training, as in vernier train")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of a random split")
	cmd.Flags().Int64Var(&maxPixels, "max-pixels", pixels.DefaultMaxPixels, "refuse pictures with more pixels")
	return cmd
}

// checkPairs says what is wrong with a file of pairs of images of a set.
func checkPairs(file string, set *data.Set) (warnings, problems []string, err error) {
	f, err := pairs.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	found := f.Find(set)
	relations, contradictions := pairs.New(found.Pairs)
	for _, p := range slices.Concat(found.Unknown, found.Itself, contradictions) {
		problems = append(problems, fmt.Sprintf("%s %v", file, p))
	}
	if !set.Unlabeled {
		for _, p := range relations.AgainstLabels(set.Labels(), func(label int) string { return set.Classes[label] }) {
			warnings = append(warnings, fmt.Sprintf("%s %v", file, p))
		}
	}
	return warnings, problems, nil
}
