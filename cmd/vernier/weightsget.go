package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights/public"
)

func newWeightsGet(log *logrus.Logger) *cobra.Command {
	var o public.Options
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Fetch public weights",
		Long: `Fetch a public weight file into the cache folder and verify its checksum, where one
is published. A transfer that was broken off continues where it stopped when the
command is given again. A file that is there already is verified and kept, never
overwritten. vernier train --weights NAME does the same before it trains.

Without NAME, list what can be fetched, the network it is for, and its terms.`,
		Example: `  vernier weights get
  vernier weights get resnet50-v2
  vernier train --data folder:photos --backbone resnet50 --weights resnet50-v2 --out runs/photos`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.Takes(false, "NAME")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listPublicWeights(cmd)
			}
			f, err := public.Find(args[0])
			if err != nil {
				return err
			}
			report := newReporter(log)
			report.Say("%s, about %s", f.Summary, megabytes(f.Bytes))
			report.Say("licence: %s (%s)", f.License, f.Homepage)
			o.Progress = run.FetchProgress(report)
			path, err := public.Get(cmd.Context(), f, o)
			if err != nil {
				return err
			}
			verified := "verified"
			if f.SHA256 == "" {
				verified = "no checksum of it is published, so that nothing could be verified"
			}
			use := f.Name
			if o.Dir != "" {
				use = path
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; use it as --backbone %s --weights %s\n", path, verified, f.Backbone, use)
			return err
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder that the file is put into (default vernier/weights in the user's cache folder)")
	cmd.Flags().StringVar(&o.Mirror, "mirror", "", "address of another place with the same files; checksums must agree")
	return cmd
}

func listPublicWeights(cmd *cobra.Command) error {
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, f := range public.Files() {
		fmt.Fprintf(t, "%s\t%s\n\t--backbone %s; %s; %s\n", f.Name, f.Summary, f.Backbone, megabytes(f.Bytes), f.License)
	}
	return t.Flush()
}
