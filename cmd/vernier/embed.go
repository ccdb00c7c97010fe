package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/train"
	"github.com/vernier-ml/vernier/weights"
)

var embedFormats = []string{"csv", "json", "npy"}

func newEmbed(log *logrus.Logger) *cobra.Command {
	var format, out, epoch string
	var force bool
	var threads, workers int
	cmd := &cobra.Command{
		Use:   "embed RUN IMAGE...",
		Short: "Embed new images",
		Long: `Embed images with the model of a run and print one row an image: csv has a
column path and then e0, e1, ...; json one object a line; npy, which needs --out,
the rows alone in the order of the images. An IMAGE may be a folder: then all
images below it are meant, in natural order.

Rows are to be compared by the run's own metric; vernier export writes it down.`,
		Example: `  vernier embed runs/birds robin.jpg wren.png
  vernier embed runs/birds photos/ --format npy --out photos.npy`,
		Args: takes(true, "RUN", "IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", format, embedFormats); err != nil {
				return err
			}
			if err := oneOf("--epoch", epoch, epochs); err != nil {
				return err
			}
			if format == "npy" && out == "" {
				return usagef("--format npy needs --out")
			}
			if out != "" && !force {
				if _, err := os.Stat(out); err == nil {
					return fmt.Errorf("file %s already exists (--force replaces it)", out)
				}
			}
			folder, err := train.Open(args[0])
			if err != nil {
				return err
			}
			cfg, err := folder.LoadConfig()
			if err != nil {
				return err
			}
			set, err := openImages(args[1:], cfg)
			if err != nil {
				return err
			}
			defer set.Close()
			eng, err := newEngine(threads)
			if err != nil {
				return err
			}
			defer eng.Close()
			m, _, err := folder.LoadModel(eng, epoch == "last")
			if err != nil {
				return err
			}
			rows, err := train.EmbedImages(cmd.Context(), m, set, workers, newReporter(log))
			if err != nil {
				return err
			}
			return writeEmbedded(cmd.OutOrStdout(), out, format, set, rows)
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "of the output: "+strings.Join(embedFormats, ", "))
	cmd.Flags().StringVar(&out, "out", "", "file to write (default standard output)")
	cmd.Flags().BoolVar(&force, "force", false, "replace --out if it exists")
	cmd.Flags().StringVar(&epoch, "epoch", "best", "which model of the run: best or last")
	cmd.Flags().IntVar(&threads, "threads", 0, "threads that compute (default all cores)")
	cmd.Flags().IntVar(&workers, "workers", 0, "goroutines that prepare images (default one a core)")
	return cmd
}

// openImages opens files, folders and archives of images as a run wants them.
func openImages(paths []string, cfg train.Config) (*data.Set, error) {
	set, err := data.OpenImages(paths, data.Options{Decode: data.DecodeOptions{MaxPixels: cfg.Data.MaxPixels}})
	if err != nil || cfg.Data.Shorter == 0 {
		return set, err
	}
	shrunk, err := data.Shrunk(set, cfg.Data.Shorter) // as in training
	if err != nil {
		set.Close()
		return nil, err
	}
	return shrunk, nil
}

// writeEmbedded writes rows to a file, as a whole or not at all, or to w.
func writeEmbedded(w io.Writer, out, format string, set *data.Set, rows *train.Rows) error {
	path := func(i int) string { return set.Items[rows.Items[i]].Path }
	write := func(w io.Writer) error {
		if format == "csv" {
			return train.WriteEmbeddingsCSV(w, []string{"path"}, rows.H, rows.N, func(i int) ([]string, []float32) {
				return []string{path(i)}, rows.Row(i)
			})
		}
		e := json.NewEncoder(w)
		for i := range rows.N {
			if err := e.Encode(struct {
				Path      string    `json:"path"`
				Embedding []float32 `json:"embedding"`
			}{path(i), rows.Row(i)}); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case format == "npy":
		x, err := weights.FromFloat32("embeddings", []int{rows.N, rows.H}, rows.X)
		if err != nil {
			return err
		}
		return weights.WriteNPY(out, x)
	case out != "":
		return train.WriteFile(out, write)
	}
	return write(w)
}
