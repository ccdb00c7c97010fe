package features

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/weights"
)

// Metric is what a file by vernier embed or vernier export says of how its rows are
// compared, in the form of metric.Parse, or "" where nothing is said.
func (f *File) Metric() string { return f.metric }

// metricOf takes it from metadata, or an array of one text.
func metricOf(file *weights.File) string {
	if text, ok := file.Metadata()["metric"]; ok {
		return text
	}
	if slices.Contains(file.Names(), "metric") {
		if t, err := file.Tensor("metric"); err == nil && t.Len() == 1 {
			if texts, err := t.Strings(); err == nil {
				return texts[0]
			}
		}
	}
	return ""
}

// besideMetric takes it from metric.json beside an exported file.
func besideMetric(path string) (string, error) {
	if !strings.HasPrefix(filepath.Base(path), "embeddings.") {
		return "", nil
	}
	b, err := wholefile.Read(filepath.Join(filepath.Dir(path), "metric.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var said struct {
		Metric string `json:"metric"`
	}
	if err == nil {
		err = json.Unmarshal(b, &said)
	}
	return said.Metric, err
}
