package run

import (
	"path/filepath"
	"strconv"

	"github.com/vernier-ml/vernier/internal/sums"
	"github.com/vernier-ml/vernier/model"
)

// ONNXFormat is the export format that needs no images; see ExportONNX.
const ONNXFormat = "onnx"

// ONNXOptions say what ExportONNX writes.
type ONNXOptions struct {
	Input  model.ONNXInput // what the network is fed
	Metric bool            // the metric too, as a model of its own
}

// ExportONNX writes the network of an epoch, and by option its metric, into a
// folder and returns the names of the files. Each appears as a whole or not at all.
func ExportONNX(dir string, m *model.Model, epoch int, o ONNXOptions) (files []string, err error) {
	const network, metric = "network.onnx", "metric.onnx"
	extra := map[string]string{EpochKey: strconv.Itoa(epoch)}
	if err := m.WriteONNX(filepath.Join(dir, network), o.Input, extra); err != nil {
		return nil, err
	}
	files = []string{network}
	if o.Metric {
		if err := model.WriteMetricONNX(filepath.Join(dir, metric), m.Spec.Metric, m.Spec.Dim, extra); err != nil {
			return files, err
		}
		files = append(files, metric)
	}
	return files, sums.WriteFolder(dir, files)
}
