package vernier

import (
	"context"
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/eval"
)

// ErrNoThreshold says that a model does not know which distance is that of the same.
var ErrNoThreshold = errors.New("the model has no threshold: store one with vernier verify RUN --calibrate RULE --store, or load the model WithThreshold")

// Distance embeds two images and returns their distance by the model's metric, which is
// the smaller the more alike they are: 1 - cosine for a cosine, and for a dot product the
// product with the opposite sign. No other distance is below 0.
func (m *Model) Distance(ctx context.Context, a, b Image) (float64, error) {
	rows, err := m.Embed(ctx, a, b)
	if err != nil {
		return 0, err
	}
	return m.EmbeddingDistance(rows[0], rows[1])
}

// Same reports whether two images show the same: whether their distance is at most the
// model's threshold. The error is ErrNoThreshold if it has none.
func (m *Model) Same(ctx context.Context, a, b Image) (bool, error) {
	threshold, ok := m.Threshold()
	if !ok {
		return false, fmt.Errorf("vernier: %s: %w", m.name, ErrNoThreshold)
	}
	d, err := m.Distance(ctx, a, b)
	return err == nil && d <= threshold, err
}

// EmbeddingDistance is Distance of two embeddings of the model's.
func (m *Model) EmbeddingDistance(a, b []float32) (float64, error) {
	for _, row := range [][]float32{a, b} {
		if err := m.checkLength(row); err != nil {
			return 0, err
		}
	}
	return eval.Distance(m.Metric(), a, b)
}

func (m *Model) checkLength(row []float32) error {
	if len(row) != m.Dim() {
		return fmt.Errorf("vernier: an embedding of %d numbers, those of %s have %d", len(row), m.name, m.Dim())
	}
	return nil
}
