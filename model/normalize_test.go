package model_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// trained runs a network with coordinates normalized by the batch a few times
// over the same images, and returns the embeddings of the last.
func trained(t *testing.T, m *model.Model, x []float32, n, runs int) []float32 {
	t.Helper()
	eng := m.Params.Engine()
	g := layers.NewGraph(eng, m.Params)
	in := g.Input("images", n, 3, 16, 16)
	e := m.Forward(g, in, true)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := eng.Write(g.Value(in), x); err != nil {
		t.Fatal(err)
	}
	for range runs {
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	rows := make([]float32, n*m.Spec.Dim)
	if err := eng.Read(rows, g.Value(e)); err != nil {
		t.Fatal(err)
	}
	return rows
}

func coordinatesSpec(t *testing.T, m metric.Metric) model.Spec {
	s := small(t)
	s.Normalization, s.Metric = model.NormCoordinates, m
	return s
}

func TestCoordinatesHaveMeanZeroAndTheDeviationThatTheSpecificationSays(t *testing.T) {
	const n, h = 12, 7
	for metric, want := range map[metric.Metric]float64{
		{Kind: metric.BRM, P: 2}: 1.5, {Kind: metric.Euclidean}: 1.5 / math.Sqrt(h),
	} {
		m, err := model.New(newEngine(t), coordinatesSpec(t, metric), 3)
		if err != nil {
			t.Fatal(err)
		}
		x := images(n, 16)
		rows := trained(t, m, x, n, 200) // running statistics reach those of the batch
		for k := range h {
			var sum, squares float64
			for i := range n {
				v := float64(rows[i*h+k])
				sum, squares = sum+v, squares+v*v
			}
			if mean, std := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-4 || math.Abs(std-want) > 0.02*want {
				t.Errorf("%v, coordinate %d: mean %v, deviation %v, want 0 and %v", metric, k, mean, std, want)
			}
		}
	}
}

func TestStatisticsOfCoordinatesAreSavedWithTheModel(t *testing.T) {
	eng := newEngine(t)
	m, err := model.New(eng, coordinatesSpec(t, metric.Metric{Kind: metric.BRM, P: 2}), 3)
	if err != nil {
		t.Fatal(err)
	}
	x := images(8, 16)
	before := embed(t, m, 8, x)
	trained(t, m, x, 8, 5)
	want := embed(t, m, 8, x)
	if before[0] == want[0] {
		t.Error("running statistics have not moved")
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	back, _, err := model.Load(path, eng)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range embed(t, back, 3, x) {
		if math.Abs(float64(v-want[i])) > 1e-5 { // in batches of another size
			t.Fatalf("number %d is %v after loading, %v before", i, v, want[i])
		}
	}
}

// Proxies that start at given embeddings are there after their normalization,
// whatever the statistics are.
func TestDenormalizedProxiesLieWhereTheyShould(t *testing.T) {
	for _, norm := range []model.Normalization{model.NormNone, model.NormRows, model.NormCoordinates} {
		spec := coordinatesSpec(t, metric.Metric{Kind: metric.Euclidean})
		spec.Normalization = norm
		eng := newEngine(t)
		m, err := model.New(eng, spec, 3)
		if err != nil {
			t.Fatal(err)
		}
		x := images(6, 16)
		if norm == model.NormCoordinates {
			trained(t, m, x, 6, 3)
		}
		want := embed(t, m, 6, x)
		rows := append([]float32(nil), want...)
		if err := m.Denormalize(rows); err != nil {
			t.Fatal(err)
		}
		g := layers.NewGraph(eng, m.Params)
		p := g.Input("proxies", 6, 7)
		y := m.NormalizeProxies(g, p)
		if norm == model.NormNone {
			if y != p {
				t.Error("without normalization proxies pass another node")
			}
			continue
		}
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := eng.Write(g.Value(p), rows); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		got := make([]float32, len(want))
		if err := eng.Read(got, g.Value(y)); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5 {
				t.Fatalf("%s: number %d is %v, want %v", norm, i, got[i], want[i])
			}
		}
		if m.Denormalize(rows[:5]) == nil && norm == model.NormCoordinates {
			t.Error("part of a row is taken")
		}
	}
}

// Statistics that start from embeddings are theirs: the embeddings then have mean
// 0 and the deviation asked for, in the network's own eyes too.
func TestStatisticsOfCoordinatesStartFromEmbeddings(t *testing.T) {
	const n, h = 9, 7
	m, err := model.New(newEngine(t), coordinatesSpec(t, metric.Metric{Kind: metric.BRM, P: 2}), 3)
	if err != nil {
		t.Fatal(err)
	}
	x := images(n, 16)
	rows := embed(t, m, n, x)
	if err := m.StartCoordinates(rows); err != nil {
		t.Fatal(err)
	}
	for k := range h {
		var sum, squares float64
		for i := range n {
			v := float64(rows[i*h+k])
			sum, squares = sum+v, squares+v*v
		}
		if mean, std := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-4 || math.Abs(std-1.5) > 0.02*1.5 {
			t.Errorf("coordinate %d: mean %v, deviation %v, want 0 and 1.5", k, mean, std)
		}
	}
	for i, v := range embed(t, m, n, x) {
		if math.Abs(float64(v-rows[i])) > 1e-3 {
			t.Fatalf("number %d: the network gives %v, want %v", i, v, rows[i])
		}
	}
}
