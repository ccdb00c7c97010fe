package run

import (
	"encoding/json"
	"path/filepath"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/weights"
)

// The files of ExportExpansion.
const (
	ExpansionFile            = "expansion.npy"
	ExpansionDescriptionFile = "expansion.json"
)

// ExportExpansion writes rows whose squared Euclidean distance is D^p of BRM within
// eps, see eval.Expansion, and a file that says how they come about. It returns the
// names of the files.
func (e *Embedded) ExportExpansion(dir string, eps float64) (*eval.Expansion, []string, error) {
	x, err := eval.Expand(e.Model.Spec.Metric, e.Embeddings, eps)
	if err != nil {
		return nil, nil, err
	}
	rows, err := x.Rows(e.Embeddings)
	if err != nil {
		return nil, nil, err
	}
	t, err := weights.FromFloat32("expansion", []int{rows.N, rows.H}, rows.X)
	if err != nil {
		return nil, nil, err
	}
	if err := weights.WriteNPY(filepath.Join(dir, ExpansionFile), t); err != nil {
		return nil, nil, err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	files := []string{ExpansionFile, ExpansionDescriptionFile}
	if err := wholefile.WriteBytes(filepath.Join(dir, ExpansionDescriptionFile), append(text, '\n')); err != nil {
		return nil, nil, err
	}
	return x, files, sums.WriteFolder(dir, files)
}
