package model_test

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

func TestWhatAProjectionCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*model.Spec)
		want   string
	}{
		{func(s *model.Spec) { s.Projection = "12," }, `"" is not the width of a layer`},
		{func(s *model.Spec) { s.Projection = "0" }, `"0" is not the width`},
		{func(s *model.Spec) { s.Projection = "mlp:12" }, "hidden layers first"},
		{func(s *model.Spec) { s.ProjectionNorm = "batch" }, "there is none"},
		{func(s *model.Spec) { s.Projection, s.ProjectionNorm = "12,6", "layer" }, "unknown normalization of the projection"},
		{func(s *model.Spec) { s.Projection, s.Normalization = "12,6", model.NormCoordinates }, "are not those of embeddings"},
		{func(s *model.Spec) { s.Projection, s.Scaling = "12,6", "learn" }, "which behind a projection are not embeddings"},
	} {
		s := small(t)
		c.change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", s, err, c.want)
		}
	}
}

// A projection is a part of training, and the model with one is that without.
func TestAProjectionIsNoPartOfTheModel(t *testing.T) {
	plain := newModel(t, small(t), 1)
	s := small(t)
	s.Projection, s.ProjectionNorm = "12, 6", model.HeadNormBatch
	if s.ComparedDim() != 6 || plain.Spec.ComparedDim() != s.Dim {
		t.Errorf("rows of %d and %d numbers are compared", s.ComparedDim(), plain.Spec.ComparedDim())
	}
	m := newModel(t, s, 1)
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	raw := m.Raw(g, g.Input("images", m.InputShape(4)...), true)
	out := m.Compared().Normalize(g, m.Project(g, raw), true)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if shape := out.Shape(); shape[0] != 4 || shape[1] != 6 {
		t.Errorf("rows of shape %v", shape)
	}
	want := map[string][]int{
		"training.projection.fc1.weight": {12, s.Dim}, "training.projection.fc1.bias": {12}, "training.projection.fc2.weight": {6, 12}, "training.projection.fc2.bias": {6},
		"training.projection.norm1.weight": {12}, "training.projection.norm1.bias": {12}, "training.projection.norm1.running_mean": {12}, "training.projection.norm1.running_var": {12},
	}
	for _, p := range m.Params.All() {
		if p.Group != layers.Training {
			continue
		}
		shape, ok := want[p.Name]
		if !ok || len(shape) != len(p.Value.Shape()) || shape[0] != p.Value.Shape()[0] {
			t.Errorf("parameter %s of shape %v", p.Name, p.Value.Shape())
		}
		delete(want, p.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	wantSameParams(t, plain, m)
}

// wantSameParams compares the numbers of what both models own.
func wantSameParams(t *testing.T, a, b *model.Model) {
	t.Helper()
	if x, y := a.Size(), b.Size(); x != y {
		t.Errorf("%d and %d numbers", x, y)
	}
	for _, p := range a.Params.All() {
		q := b.Params.Get(p.Name)
		if q == nil {
			t.Errorf("%s is missing", p.Name)
			continue
		}
		x, y := make([]float32, p.Value.Size()), make([]float32, q.Value.Size())
		if err := a.Params.Engine().Read(x, p.Value); err != nil {
			t.Fatal(err)
		}
		if err := b.Params.Engine().Read(y, q.Value); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if x[i] != y[i] {
				t.Errorf("%s differs", p.Name)
				break
			}
		}
	}
}
