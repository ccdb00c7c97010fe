package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/train"
)

func newExport(log *logrus.Logger) *cobra.Command {
	f := &selectionFlags{}
	var out string
	var formats []string
	var force bool
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write the network, and embeddings with labels and paths, for other tools",
		Long: `Write what a run has learned in formats that other tools read. By format:

  safetensors  model.safetensors (the network, its specification in the metadata)
               and embeddings.safetensors (embeddings (N, h) float32, labels (N) int64)
  npy          embeddings.npy, labels.npy and paths.npy, rows in the same order
  csv          embeddings.csv: path, class, label, e0, e1, ...

Beside them metric.json says how the rows are to be compared, and classes.csv
which class a label means. Rows are the images of --split.`,
		Example: `  vernier export runs/glyphs
  vernier export runs/glyphs --format csv --split all --out glyphs-embedded`,
		Args: takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range formats {
				if err := oneOf("--format", name, train.ExportFormats); err != nil {
					return err
				}
			}
			if err := f.complete(cmd, log); err != nil {
				return err
			}
			folder, err := train.Open(args[0])
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(args[0], "export")
			}
			if err := emptyFolder(out, force); err != nil {
				return err
			}
			eng, err := newEngine(f.threads)
			if err != nil {
				return err
			}
			defer eng.Close()
			emb, err := train.Embed(cmd.Context(), folder, eng, f.sel)
			if err != nil {
				return err
			}
			defer emb.Close()
			files, err := emb.Export(out, formats)
			if err != nil {
				return err
			}
			log.Infof("%d rows of %d numbers from the model of epoch %d: wrote %s to %s", emb.Embeddings.N, emb.Embeddings.H, emb.Epoch, strings.Join(files, ", "), out)
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "folder to write to (default RUN/export); must be empty or not exist")
	cmd.Flags().StringSliceVar(&formats, "format", train.ExportFormats, "formats, separated by commas: "+strings.Join(train.ExportFormats, ", "))
	cmd.Flags().BoolVar(&force, "force", false, "replace files of the same names in --out")
	return cmd
}

// emptyFolder makes a folder, or accepts one that is empty or forced.
func emptyFolder(path string, force bool) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("folder %s is not empty (--force replaces files of the same names)", path)
	}
	return nil
}
