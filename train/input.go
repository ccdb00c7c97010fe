package train

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data"
)

// inputRows is the most training rows whose mean and variance are those that a model
// normalizes its input by.
const inputRows = 100_000

// startInput measures mean and variance of each coordinate of the training rows, evenly
// chosen where there are many, for a model that normalizes by them. A model that began
// with weights has them from there.
func (s *Session) startInput(ctx context.Context) error {
	if !s.model.NormalizesInput() || s.cfg.Weights.Path != "" {
		return nil
	}
	set := s.sets.Train
	if n := len(set.Items); n > inputRows {
		items := make([]int, inputRows)
		for i := range items {
			items[i] = i * n / inputRows
		}
		set = set.Select(set.Name, items)
	}
	loader, err := s.feeder.loader(set, nil)
	if err != nil {
		return err
	}
	mean, variance, err := moments(ctx, loader, s.model.Width())
	if err != nil {
		return fmt.Errorf("mean and variance of the features: %w", err)
	}
	return s.model.SetInput(mean, variance)
}

// moments returns mean and biased variance of each of width coordinates, by the one-pass
// update of Welford (1962).
func moments(ctx context.Context, loader *data.Loader, width int) (mean, variance []float32, err error) {
	n, m, squares := 0., make([]float64, width), make([]float64, width)
	const batch = 1024
	for b, err := range loader.All(ctx, batch) {
		if err != nil {
			return nil, nil, err
		}
		for x := b.Images; len(x) > 0; x = x[width:] {
			n++
			for j, v := range x[:width] {
				d := float64(v) - m[j]
				m[j] += d / n
				squares[j] += d * (float64(v) - m[j])
			}
		}
		b.Recycle()
	}
	mean, variance = make([]float32, width), make([]float32, width)
	for j := range width {
		mean[j], variance[j] = float32(m[j]), float32(squares[j]/max(n, 1))
	}
	return mean, variance, nil
}
