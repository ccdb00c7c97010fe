package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data/fetch"
	"github.com/vernier-ml/vernier/run"
)

func newDataGet(log *logrus.Logger) *cobra.Command {
	var dir string
	var o fetch.Options
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Fetch a public data set",
		Long: `Fetch the files of a public data set into a folder and verify their checksums.
A transfer that was broken off continues where it stopped when the command is given
again. Files that are there already are verified and kept, never overwritten.

Without NAME, list what can be fetched and on which terms it may be used.`,
		Example: `  vernier data get
  vernier data get cub200 --dir sets
  vernier train --data cub200:sets/CUB_200_2011 --out runs/birds`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.Takes(false, "NAME")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listDownloads(cmd)
			}
			d, err := fetch.Find(args[0])
			if err != nil {
				return err
			}
			report := newReporter(log)
			report.Say("%s, about %s", d.Summary, megabytes(d.Bytes))
			report.Say("licence: %s (%s)", d.License, d.Homepage)
			o.Progress = run.FetchProgress(report)
			if err := fetch.Get(cmd.Context(), d, dir, o); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "verified; use it as --data %s\n", d.Use(dir))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder that the files are put into")
	cmd.Flags().StringVar(&o.Mirror, "mirror", "", "address of another place with the same files; checksums must agree")
	return cmd
}

func listDownloads(cmd *cobra.Command) error {
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, d := range fetch.Sets() {
		fmt.Fprintf(t, "%s\t%s\n\t%s; %s\n", d.Name, d.Summary, megabytes(d.Bytes), d.License)
	}
	return t.Flush()
}

func megabytes(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}
