package main

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/plural"
)

func newDataPrepare(log *logrus.Logger) *cobra.Command {
	var o data.PrepareOptions
	var maxPixels int64
	cmd := &cobra.Command{
		Use:   "prepare SPEC",
		Short: "Decode the images of a data set beforehand",
		Long: `Decode every image, resize larger ones to a moderate shorter side, and store them
in one file from which training and evaluation read many times faster. vernier
train does the same when it first meets a set; this is for doing it ahead of
time. When the set changes, a new file takes the place of the old one. Files may
be removed at any time; they are made again.`,
		Example: `  vernier data prepare cub200:CUB_200_2011
  vernier data prepare sop:Stanford_Online_Products --cache /scratch/vernier`,
		Args: cli.Takes(false, "SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			report := newReporter(log)
			set, err := data.Open(cmd.Context(), args[0], data.Options{Decode: pixels.Options{MaxPixels: maxPixels}, Progress: report.Listing})
			if err != nil {
				return err
			}
			o.Progress = func(done, total int) { report.Progress("preparing images", done, total, "") }
			ready, err := data.Prepare(cmd.Context(), set, o)
			if err != nil {
				set.Close()
				return err
			}
			defer ready.Close()
			return printPrepared(cmd, log, ready)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "cache", "", "folder of prepared files (default vernier in the user's cache folder)")
	cmd.Flags().IntVar(&o.Shorter, "shorter", data.DefaultShorter, "shorter side that larger images are resized to, in pixels; networks that take larger pictures than this look for a larger one")
	cmd.Flags().IntVar(&o.Workers, "workers", 0, "goroutines that decode (default one a core)")
	cmd.Flags().Int64Var(&maxPixels, "max-pixels", pixels.DefaultMaxPixels, "refuse pictures with more pixels, as vernier train")
	return cmd
}

func printPrepared(cmd *cobra.Command, log *logrus.Logger, set *data.Set) error {
	file, ok := set.Prepared()
	if !ok {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: its images need no decoding; nothing is stored\n", set.Name)
		return err
	}
	if file.Unreadable > 0 {
		log.Warnf("unreadable: %s; vernier data check %s lists them", plural.Of(file.Unreadable, "image"), set.Name)
	}
	what := "was there already"
	if file.Built {
		what = "was made"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %.1f MB\n%s %s\n", set.Name, plural.Of(len(set.Items)-file.Unreadable, "image"), float64(file.Bytes)/1e6, file.Path, what)
	return err
}
