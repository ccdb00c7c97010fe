package model

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// The normalisation of coordinates is part of the head, so that its statistics
// are saved with it. It has the constants of PyTorch's batch normalisation.
const (
	coordinates   = headPrefix + "coordinates"
	coordEps      = 1e-5
	coordMomentum = 0.1
)

// Normalize adds what the specification does to embeddings x (B, h) between head
// and metric. training lets the normalisation of coordinates use the statistics
// of the batch, unless Freeze named it.
func (m *Model) Normalize(g *layers.Graph, x *layers.Node, training bool) *layers.Node {
	switch m.Spec.Normalization {
	case NormRows:
		return m.rows(g, headPrefix+"rows", x)
	case NormCoordinates:
		return m.coordinates(g, coordinates, x, !training || !m.batchStats(coordinates))
	}
	return x
}

// NormalizeProxies adds the same to a loss's class rows: they lie where raw
// embeddings do. Coordinates are normalised with the running statistics of the
// embeddings, since the proxies' own would be those of another set.
func (m *Model) NormalizeProxies(g *layers.Graph, x *layers.Node) *layers.Node {
	const name = "loss.proxies.norm"
	switch m.Spec.Normalization {
	case NormRows:
		return m.rows(g, name, x)
	case NormCoordinates:
		return m.coordinates(g, name, x, true)
	}
	return x
}

func (m *Model) rows(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	return g.RowNorm(name, x, layers.RowNormSpec{Scale: float32(m.Spec.RowLength()), Eps: 1e-12})
}

// deviation is that of every coordinate after the normalisation of coordinates.
func (m *Model) deviation() float64 {
	return m.Spec.RowLength() / math.Sqrt(float64(m.Spec.Dim))
}

func (m *Model) coordinates(g *layers.Graph, name string, x *layers.Node, frozen bool) *layers.Node {
	h := m.Spec.Dim
	return g.BatchNorm(name, x, layers.NormParams{
		Gamma:    g.Fixed(name+".scale", float32(m.deviation()), h),
		Beta:     g.Fixed(name+".shift", 0, h),
		Mean:     g.Param(coordinates+".running_mean", layers.Buffer, layers.Constant(0), h),
		Var:      g.Param(coordinates+".running_var", layers.Buffer, layers.Constant(1), h),
		Eps:      coordEps,
		Momentum: coordMomentum, FrozenStats: frozen,
	})
}

// Denormalize takes embeddings, rows of h numbers, in place to a point that
// Normalize in evaluation maps to them: where class rows start that are to lie
// at given embeddings. Rows of any length are normalised alike; they get length
// 1, so that a step of an optimiser turns them equally far under every metric.
func (m *Model) Denormalize(rows []float32) error {
	switch m.Spec.Normalization {
	case NormNone:
		return nil
	case NormRows:
		return m.unitRows(rows)
	}
	h, d := m.Spec.Dim, m.deviation()
	if len(rows)%h != 0 {
		return fmt.Errorf("model: %d numbers are not a whole number of embeddings of %d", len(rows), h)
	}
	mean, variance := make([]float32, h), make([]float32, h)
	for name, to := range map[string][]float32{"running_mean": mean, "running_var": variance} {
		if err := m.Params.Engine().Read(to, m.Params.Get(coordinates+"."+name).Value); err != nil {
			return fmt.Errorf("model: %s.%s: %w", coordinates, name, err)
		}
	}
	for i, v := range rows {
		k := i % h
		rows[i] = float32(float64(mean[k]) + float64(v)/d*math.Sqrt(float64(variance[k])+coordEps))
	}
	return nil
}

// unitRows brings rows of h numbers to length 1, but leaves zero rows.
func (m *Model) unitRows(rows []float32) error {
	h := m.Spec.Dim
	if len(rows)%h != 0 {
		return fmt.Errorf("model: %d numbers are not a whole number of embeddings of %d", len(rows), h)
	}
	for ; len(rows) > 0; rows = rows[h:] {
		sum := 0.
		for _, v := range rows[:h] {
			sum += float64(v) * float64(v)
		}
		if sum == 0 {
			continue
		}
		for j, v := range rows[:h] {
			rows[j] = float32(float64(v) / math.Sqrt(sum))
		}
	}
	return nil
}
