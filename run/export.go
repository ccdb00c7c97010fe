package run

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// ExportFormats lists what Export writes; ONNXFormat is not among them.
func ExportFormats() []string { return []string{"safetensors", "npy", "npz", "csv", "parquet"} }

// Export writes the network and the embeddings into a folder, with a file of their
// checksums, and returns the names of the files. Each appears as a whole or not at all.
func (e *Embedded) Export(dir string, formats []string) (files []string, err error) {
	table, err := e.Table()
	if err != nil {
		return nil, err
	}
	do := func(name string, write func(path string) error) {
		if err != nil {
			return
		}
		if err = write(filepath.Join(dir, name)); err == nil {
			files = append(files, name)
		}
	}
	for _, f := range formats {
		if !slices.Contains(ExportFormats(), f) {
			return files, fmt.Errorf("unknown export format %q (there is: %v)", f, ExportFormats())
		}
		switch f {
		case "safetensors":
			do("model.safetensors", func(path string) error {
				meta := map[string]string{EpochKey: strconv.Itoa(e.Epoch)}
				if e.Averaged {
					meta[EMAKey] = strconv.FormatFloat(e.cfg.EMA, 'g', -1, 64)
				}
				return e.Model.Save(path, meta)
			})
		case "npz":
			do("network.npz", e.Model.SaveNPZ)
		}
		do("embeddings."+f, func(path string) error { return gallery.Write(path, table) })
		if f == "npy" && err == nil {
			files = append(files, "labels.npy", "paths.npy")
		}
	}
	do(gallery.ClassesFile, func(path string) error {
		return wholefile.Write(path, func(w io.Writer) error {
			c := csv.NewWriter(w)
			if err := c.Write([]string{"label", "class"}); err != nil {
				return err
			}
			for label, class := range e.Set.Classes {
				if err := c.Write([]string{strconv.Itoa(label), class}); err != nil {
					return err
				}
			}
			c.Flush()
			return c.Error()
		})
	})
	do(gallery.DescriptionFile, func(path string) error {
		text, err := json.MarshalIndent(e.describe(table), "", "  ")
		if err != nil {
			return err
		}
		return wholefile.WriteBytes(path, append(text, '\n'))
	})
	if err == nil {
		err = sums.WriteFolder(dir, files)
	}
	return append(files, sums.FolderFile), err
}

// description tells another tool how to compare the rows.
type description struct {
	Metric     string  `json:"metric"`
	Model      string  `json:"model"`      // its fingerprint
	Similarity bool    `json:"similarity"` // larger values are closer
	Dim        int     `json:"dim"`
	RowLength  float64 `json:"row_length,omitempty"` // |row|, if rows are normalized
	Data       string  `json:"data"`
	Rows       int     `json:"rows"`
	Epoch      int     `json:"epoch"`
}

func (e *Embedded) describe(t *gallery.Table) description {
	d := description{
		Metric: t.Metric, Model: t.Model, Similarity: e.Model.Spec.Metric.Similarity(), Dim: t.H, Data: t.Data, Rows: t.N, Epoch: e.Epoch,
	}
	if s := e.Model.Spec; s.Normalization == "rows" && s.Scaling == "" {
		d.RowLength = e.Model.Spec.RowLength()
	}
	return d
}

// Table is the embeddings with what is known of their images and of the model.
func (e *Embedded) Table() (*gallery.Table, error) {
	if err := e.Model.Spec.Metric.Validate(); err != nil {
		return nil, fmt.Errorf("rows that leave the run are compared by their metric alone: %w", err)
	}
	t := &gallery.Table{Embeddings: e.Embeddings, Metric: e.Model.Spec.Metric.String(), Data: e.Set.Name}
	var err error
	if t.Model, err = e.Model.Fingerprint(); err != nil {
		return nil, err
	}
	for _, it := range e.Set.Items {
		t.Paths, t.Classes = append(t.Paths, it.Path), append(t.Classes, e.Set.Classes[it.Label])
	}
	return t, nil
}
