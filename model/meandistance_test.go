package model

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// TestGoldenMeanDistance takes the cases of rows alone; losses tests the others.
func TestGoldenMeanDistance(t *testing.T) {
	golden.Walk(t, "mdr", func(t *testing.T, c *golden.Case) {
		r, rows := c.Inputs["r"]
		if !rows {
			t.Skip("a case of the term mdr")
		}
		array := func(v golden.Tensor) layers.Array { return layers.Array{Shape: v.Shape, V: v.Float32()} }
		x, dy := array(c.Inputs["x"]), array(r)
		y, dx := layers.Array{Shape: x.Shape, V: make([]float32, len(x.V))}, layers.Array{Shape: x.Shape, V: make([]float32, len(x.V))}
		if err := (meanDistance{}).Forward(y, x); err != nil {
			t.Fatal(err)
		}
		golden.Close32(t, "y", y.V, c.Outputs["y"])
		if err := (meanDistance{}).Backward([]layers.Array{dx}, dy, y, x); err != nil {
			t.Fatal(err)
		}
		golden.Close32(t, "grad_x", dx.V, c.Outputs["grad_x"])
	})
}

func TestMeanDistanceGradientByFiniteDifferences(t *testing.T) {
	for seed, shape := range [][]int{{1, 3}, {2, 4}, {7, 5}} {
		if err := layers.CheckHostOp(meanDistance{}, uint64(seed), shape); err != nil {
			t.Errorf("%v: %v", shape, err)
		}
	}
}

// In training the mean distance is 1 whatever the scale; embeddings outside of it, and
// rows that are all equal, stay as they are.
func TestNormalizationByDistanceIsOfTrainingAlone(t *testing.T) {
	spec, err := DefaultSpec("features:dim=6")
	if err != nil {
		t.Fatal(err)
	}
	spec.Dim, spec.Metric = 5, metric.Metric{Kind: metric.Euclidean}
	spec.Normalization = NormDistance
	m, err := New(reference.New(), spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 4*spec.Dim)
	for i := range x {
		x[i] = float32(i*i%17) - 3
	}
	for _, training := range []bool{true, false} {
		for _, equal := range []bool{false, true} {
			g := layers.NewGraph(m.Params.Engine(), m.Params)
			in := g.Input("raw", 4, spec.Dim)
			out := m.Normalize(g, in, training)
			g.Keep(out)
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			rows := append([]float32(nil), x...)
			if equal {
				for i := range rows {
					rows[i] = x[i%spec.Dim]
				}
			}
			eng := m.Params.Engine()
			if err := eng.Write(g.Value(in), rows); err != nil {
				t.Fatal(err)
			}
			if err := g.Run(); err != nil {
				t.Fatal(err)
			}
			got := make([]float32, len(rows))
			if err := eng.Read(got, g.Value(out)); err != nil {
				t.Fatal(err)
			}
			mean := newRowDistances(layers.Array{Shape: []int{4, spec.Dim}, V: got}).mean
			if scaled := training && !equal; scaled && (mean < 1-1e-6 || mean > 1+1e-6) || !scaled && got[5] != rows[5] {
				t.Errorf("training %v, equal rows %v: mean distance %v, %v became %v", training, equal, mean, rows[5], got[5])
			}
		}
	}
}
