package model

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// The normalization of coordinates is part of the head, so that its statistics
// are saved with it. It has the constants of PyTorch's batch normalization.
const (
	coordinates   = headPrefix + "coordinates"
	coordEps      = 1e-5
	coordMomentum = 0.1
)

// Normalize adds what the specification does to embeddings x (B, h) between head
// and metric. training lets the normalization of coordinates use the statistics
// of the batch, unless Freeze named it.
func (m *Model) Normalize(g *layers.Graph, x *layers.Node, training bool) *layers.Node {
	switch m.Spec.Normalization {
	case NormRows:
		x = m.rows(g, headPrefix+"rows", x)
	case NormCoordinates:
		x = m.coordinates(g, coordinates, x, !training || !m.ownStats(coordinates))
	case NormDistance:
		if training {
			x = g.HostOp(headPrefix+"distance", meanDistance{}, x)
		}
	}
	return m.rescale(g, headPrefix+"scale", x)
}

// NormalizeProxies adds the same to a loss's class rows. Under NormCoordinates
// these lie where normalized embeddings do, at a scale of 1 for a row's length:
// among raw embeddings, normalized with the statistics of the moment, they would
// move whenever the statistics do.
func (m *Model) NormalizeProxies(g *layers.Graph, x *layers.Node) *layers.Node {
	const name = "loss.proxies.norm"
	switch m.Spec.Normalization {
	case NormRows:
		x = m.rows(g, name, x)
	case NormCoordinates:
		h := m.Spec.Dim
		x = g.BatchNorm(name, x, layers.NormParams{
			Gamma: g.Fixed(name+".scale", float32(m.rowLength()), h), Beta: g.Fixed(name+".shift", 0, h),
			Mean: g.Fixed(name+".mean", 0, h), Var: g.Fixed(name+".var", 1, h), FrozenStats: true,
		})
	}
	return m.rescale(g, name+".scaled", x)
}

func (m *Model) rows(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	return g.RowNorm(name, x, engine.RowNormSpec{Scale: float32(m.rowLength()), Eps: 1e-12})
}

// rowLength is that of rows before a scale that changes.
func (m *Model) rowLength() float64 {
	if m.Spec.Scaling != ScaleFixed {
		return m.Spec.unitLength()
	}
	return m.Spec.RowLength()
}

func (m *Model) coordinates(g *layers.Graph, name string, x *layers.Node, frozen bool) *layers.Node {
	defer g.In(layers.Head)()
	h := m.Spec.Dim
	return g.BatchNorm(name, x, layers.NormParams{
		Gamma:    g.Fixed(name+".scale", float32(m.rowLength()/math.Sqrt(float64(h))), h),
		Beta:     g.Fixed(name+".shift", 0, h),
		Mean:     g.Param(coordinates+".running_mean", layers.Buffer, layers.Constant(0), h),
		Var:      g.Param(coordinates+".running_var", layers.Buffer, layers.Constant(1), h),
		Eps:      coordEps,
		Momentum: coordMomentum, FrozenStats: frozen,
	})
}

// Denormalize takes embeddings, rows of h numbers, in place to where class rows
// have to be for NormalizeProxies to map them there. Rows of normalized models
// get length 1 or about that, so that a step of an optimizer turns them equally
// far under every metric.
func (m *Model) Denormalize(rows []float32) error {
	switch m.Spec.Normalization {
	case NormRows:
		return unitRows(rows, m.Spec.Dim)
	case NormCoordinates:
		return eachRow(rows, m.Spec.Dim, func(row []float32) {
			for k, v := range row {
				row[k] = float32(float64(v) / m.Spec.RowLength())
			}
		})
	}
	return nil
}

// statistics are the running mean of each raw coordinate, and what a normalized
// one is multiplied by to get back to it, at the scale that training starts from.
func (m *Model) statistics() (mean, std []float64, err error) {
	h, d := m.Spec.Dim, m.Spec.RowLength()/math.Sqrt(float64(m.Spec.Dim))
	mean, std = make([]float64, h), make([]float64, h)
	for _, s := range []struct {
		name string
		to   []float64
	}{{"running_mean", mean}, {"running_var", std}} {
		host := make([]float32, h)
		if err := m.Params.Engine().Read(host, m.Params.Get(coordinates+"."+s.name).Value); err != nil {
			return nil, nil, fmt.Errorf("model: %s.%s: %w", coordinates, s.name, err)
		}
		for k, v := range host {
			s.to[k] = float64(v)
		}
	}
	for k, v := range std {
		std[k] = math.Sqrt(v+coordEps) / d
	}
	return mean, std, nil
}

// StartCoordinates sets the running statistics of the normalization of coordinates
// from embeddings of the training images, and takes these in place to what they
// are under the new ones. Without it the statistics of a new model, 0 and 1, say
// nothing of where its embeddings lie, nor where class rows should start.
func (m *Model) StartCoordinates(rows []float32) error {
	if m.Spec.Normalization != NormCoordinates || len(rows) == 0 {
		return nil
	}
	was, scale, err := m.statistics()
	if err != nil {
		return err
	}
	if err := eachRow(rows, m.Spec.Dim, func(row []float32) {
		for k, v := range row {
			row[k] = float32(was[k] + float64(v)*scale[k])
		}
	}); err != nil {
		return err
	}
	h, n := m.Spec.Dim, float64(len(rows)/m.Spec.Dim)
	sum, squares := make([]float64, h), make([]float64, h)
	mean, variance := make([]float32, h), make([]float32, h)
	for i, v := range rows {
		sum[i%h] += float64(v)
	}
	for i, v := range rows {
		d := float64(v) - sum[i%h]/n
		squares[i%h] += d * d
	}
	for k := range h {
		mean[k], variance[k] = float32(sum[k]/n), float32(squares[k]/n)
	}
	eng := m.Params.Engine()
	if err := eng.Write(m.Params.Get(coordinates+".running_mean").Value, mean); err != nil {
		return err
	}
	if err := eng.Write(m.Params.Get(coordinates+".running_var").Value, variance); err != nil {
		return err
	}
	now, std, err := m.statistics()
	if err != nil {
		return err
	}
	for i, v := range rows {
		rows[i] = float32((float64(v) - now[i%h]) / std[i%h])
	}
	return nil
}

// eachRow calls do for each row of h numbers.
func eachRow(rows []float32, h int, do func(row []float32)) error {
	if len(rows)%h != 0 {
		return fmt.Errorf("model: %d numbers are not a whole number of embeddings of %d", len(rows), h)
	}
	for ; len(rows) > 0; rows = rows[h:] {
		do(rows[:h])
	}
	return nil
}

// unitRows brings rows to length 1, but leaves zero rows.
func unitRows(rows []float32, h int) error {
	return eachRow(rows, h, func(row []float32) {
		sum := 0.
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		if sum == 0 {
			return
		}
		for j, v := range row {
			row[j] = float32(float64(v) / math.Sqrt(sum))
		}
	})
}
