package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/data"
)

func newData(log *logrus.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List the kinds of data sets, and check one",
		Long:  "List the kinds of data sets that --data takes, and check one before training on it.",
		Example: `  vernier data list
  vernier data check folder:birds.zip`,
		Args: knownCommand,
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
		Args:    takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', 0)
			for _, k := range data.List() {
				fmt.Fprintf(t, "%s\t%s\n", k.Usage, k.Summary)
			}
			return t.Flush()
		},
	}
}

func newDataCheck(log *logrus.Logger) *cobra.Command {
	var asJSON bool
	var split string
	var seed uint64
	var maxPixels int64
	cmd := &cobra.Command{
		Use:   "check SPEC",
		Short: "Decode every image of a data set and report what is wrong",
		Long: `Decode every image and report unreadable files, classes with a single image,
duplicates within and across classes and splits, and counts. The exit code is 1
if something is wrong.`,
		Example: `  vernier data check glyphs
  vernier data check folder:birds.zip --train-classes 0.7 --json`,
		Args: takes(false, "SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := data.ParseSplit(split, seed)
			if err != nil {
				return usagef("--train-classes: %w", err)
			}
			report := newReporter(log)
			r, err := data.Check(cmd.Context(), args[0], data.CheckOptions{
				Options:  data.Options{Decode: data.DecodeOptions{MaxPixels: maxPixels}},
				Split:    &spec,
				Progress: func(done, total int) { report.Progress("decoding", done, total, "") },
			})
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				err = e.Encode(r)
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
	cmd.Flags().StringVar(&split, "train-classes", "auto", "which classes are for training, as in vernier train")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "of a random split")
	cmd.Flags().Int64Var(&maxPixels, "max-pixels", data.DefaultMaxPixels, "refuse pictures with more pixels")
	return cmd
}

// most is how many entries of a list are printed; --json has them all.
const most = 20

func printReport(w io.Writer, r *data.Report) error {
	fmt.Fprintf(w, "%s: %d images of %d classes", r.Set, r.Images, r.Classes)
	if r.TrainClasses > 0 {
		fmt.Fprintf(w, "; %d images of %d classes for training, %d of %d for testing", r.TrainImages, r.TrainClasses, r.TestImages, r.TestClasses)
	}
	fmt.Fprintln(w)
	if r.MaxWidth > 0 {
		fmt.Fprintf(w, "images are %d to %d pixels wide and %d to %d high\n", r.MinWidth, r.MaxWidth, r.MinHeight, r.MaxHeight)
	}
	if len(r.Histogram) > 0 {
		least, largest := r.Histogram[0], r.Histogram[0]
		for _, c := range r.Histogram {
			if c.Images < least.Images {
				least = c
			}
			if c.Images > largest.Images {
				largest = c
			}
		}
		fmt.Fprintf(w, "the smallest class, %s, has %d images, the largest, %s, %d\n", least.Class, least.Images, largest.Class, largest.Images)
	}
	printList(w, "unreadable:", len(r.Bad), func(i int) string { return r.Bad[i].Path + ": " + r.Bad[i].Reason })
	printList(w, "same picture:", len(r.Duplicates), func(i int) string {
		return fmt.Sprintf("(across: %s) %v", r.Duplicates[i].Across, r.Duplicates[i].Paths)
	})
	printList(w, "warning:", len(r.Warnings), func(i int) string { return r.Warnings[i] })
	printList(w, "problem:", len(r.Problems), func(i int) string { return r.Problems[i] })
	if r.OK() {
		_, err := fmt.Fprintln(w, "nothing is wrong")
		return err
	}
	return nil
}

func printList(w io.Writer, what string, n int, line func(i int) string) {
	for i := range min(n, most) {
		fmt.Fprintf(w, "%s %s\n", what, line(i))
	}
	if n > most {
		fmt.Fprintf(w, "%s and %d more, see --json\n", what, n-most)
	}
}
