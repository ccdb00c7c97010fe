package train

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"

	"github.com/vernier-ml/vernier/weights"
)

// ExportFormats lists what Export writes; ONNXFormat is not among them.
var ExportFormats = []string{"safetensors", "npy", "npz", "csv"}

// Export writes the network and the embeddings into a folder and returns the
// names of the files. Each appears as a whole or not at all.
func (e *Embedded) Export(dir string, formats []string) (files []string, err error) {
	x, err := weights.FromFloat32("embeddings", []int{e.Embeddings.N, e.Embeddings.H}, e.Embeddings.X)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, e.Embeddings.N)
	paths := make([]string, e.Embeddings.N)
	for i, it := range e.Set.Items {
		ids[i], paths[i] = int64(it.Label), it.Path
	}
	labels, err := weights.FromInt64("labels", []int{len(ids)}, ids)
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
		switch f {
		case "safetensors":
			do("model.safetensors", func(path string) error {
				return e.Model.Save(path, map[string]string{epochKey: strconv.Itoa(e.Epoch)})
			})
			do("embeddings.safetensors", func(path string) error {
				return weights.WriteSafetensors(path, []*weights.Tensor{x, labels}, map[string]string{"metric": e.Model.Spec.Metric.String(), "data": e.Set.Name})
			})
		case "npy":
			do("embeddings.npy", func(path string) error { return weights.WriteNPY(path, x) })
			do("labels.npy", func(path string) error { return weights.WriteNPY(path, labels) })
			do("paths.npy", func(path string) error {
				text, err := weights.FromStrings("paths", paths)
				if err != nil {
					return err
				}
				return weights.WriteNPY(path, text)
			})
		case "npz":
			do("network.npz", e.Model.SaveNPZ)
			do("embeddings.npz", func(path string) error { return weights.WriteNPZ(path, []*weights.Tensor{x, labels}) })
		case "csv":
			do("embeddings.csv", e.writeCSV)
		default:
			return files, fmt.Errorf("unknown export format %q (there is: %v)", f, ExportFormats)
		}
	}
	do("classes.csv", func(path string) error {
		return WriteFile(path, func(w io.Writer) error {
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
	do("metric.json", func(path string) error {
		text, err := json.MarshalIndent(e.describe(), "", "  ")
		if err != nil {
			return err
		}
		return renameio.WriteFile(path, append(text, '\n'), 0o644)
	})
	return files, err
}

// description tells another tool how to compare the rows.
type description struct {
	Metric     string  `json:"metric"`
	Similarity bool    `json:"similarity"` // larger values are closer
	Dim        int     `json:"dim"`
	RowLength  float64 `json:"row_length,omitempty"` // |row|, if rows are normalised
	Data       string  `json:"data"`
	Rows       int     `json:"rows"`
	Epoch      int     `json:"epoch"`
}

func (e *Embedded) describe() description {
	d := description{
		Metric: e.Model.Spec.Metric.String(), Similarity: e.Model.Spec.Metric.Similarity(), Dim: e.Embeddings.H,
		Data: e.Set.Name, Rows: e.Embeddings.N, Epoch: e.Epoch,
	}
	if e.Model.Spec.Normalization == "rows" {
		d.RowLength = e.Model.Spec.RowLength()
	}
	return d
}

// writeCSV writes one row an image, readable by any spreadsheet. Numbers have
// the nine digits that give a float32 back exactly.
func (e *Embedded) writeCSV(path string) error {
	return WriteFile(path, func(w io.Writer) error {
		return WriteEmbeddingsCSV(w, []string{"path", "class", "label"}, e.Embeddings.H, e.Embeddings.N, func(i int) ([]string, []float32) {
			it := e.Set.Items[i]
			return []string{it.Path, e.Set.Classes[it.Label], strconv.Itoa(it.Label)}, e.Embeddings.Row(i)
		})
	})
}

// WriteEmbeddingsCSV writes n rows: the leading columns, then e0 to e(h-1).
func WriteEmbeddingsCSV(w io.Writer, leading []string, h, n int, row func(i int) ([]string, []float32)) error {
	c := csv.NewWriter(w)
	line := append([]string(nil), leading...)
	for j := range h {
		line = append(line, "e"+strconv.Itoa(j))
	}
	if err := c.Write(line); err != nil {
		return err
	}
	for i := range n {
		head, x := row(i)
		line = append(line[:0], head...)
		for _, v := range x {
			line = append(line, strconv.FormatFloat(float64(v), 'g', 9, 32))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, write func(w io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.CloseAtomicallyReplace()
}
