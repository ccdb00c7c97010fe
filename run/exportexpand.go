package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/weights"
)

// The files of ExportExpansion.
const (
	ExpansionFile            = "expansion.npy"
	ExpansionTableFile       = "expansion.parquet"
	ExpansionDescriptionFile = "expansion.json"
)

// ExportExpansion writes expanded rows, whose squared Euclidean distance is D^p of BRM: as an
// array, as a table with paths, classes and labels, and a file that says how they come
// about. It returns the names of the files.
func (e *Embedded) ExportExpansion(dir string, x *eval.Expansion) ([]string, error) {
	t, err := e.Table()
	if err == nil {
		err = ExpandTable(x, t)
	}
	if err != nil {
		return nil, err
	}
	rows, err := weights.FromFloat32("expansion", []int{t.N, t.H}, t.X)
	if err != nil {
		return nil, err
	}
	if err := weights.WriteNPY(filepath.Join(dir, ExpansionFile), rows); err != nil {
		return nil, err
	}
	if err := gallery.Write(filepath.Join(dir, ExpansionTableFile), t); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, err
	}
	files := []string{ExpansionFile, ExpansionDescriptionFile, ExpansionTableFile}
	if err := wholefile.WriteBytes(filepath.Join(dir, ExpansionDescriptionFile), append(text, '\n')); err != nil {
		return nil, err
	}
	return files, sums.WriteFolder(dir, files)
}

// ExpandTable replaces the rows of a table by expanded ones, which are compared by squared
// Euclidean distance.
func ExpandTable(x *eval.Expansion, t *gallery.Table) error {
	if t.Metric != x.Metric {
		return fmt.Errorf("the expansion is of %s, the rows are compared by %s", x.Metric, t.Metric)
	}
	rows, err := x.Rows(t.Embeddings)
	if err != nil {
		return err
	}
	t.Embeddings, t.Metric = rows, metric.Metric{Kind: metric.SquaredEuclidean}.String()
	return nil
}
