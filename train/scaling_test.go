package train

import (
	"context"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// A scale that is learned, or has a schedule, continues with a run to the bit.
func TestAScaleGoesOnWithARun(t *testing.T) {
	for scaling, loss := range map[model.Scaling]string{model.ScaleLearn: "proxy-anchor", model.ScaleLearnEach: "contrastive", "to:2": "npairs"} {
		c := smallConfig(t, shades(t, 8, 4))
		c.Model.Scale, c.Model.Scaling, c.Loss.Name, c.WarmupEpochs = .5, scaling, loss, 0
		straight, r := resumedInTheMiddle(t, string(scaling), c)
		first := straight.state.History[0].Scale
		for i, want := range straight.state.History {
			if got := r.state.History[i].Scale; got != want.Scale || got <= 0 {
				t.Errorf("%s: epoch %d ends at scale %v, want %v", scaling, i+1, got, want.Scale)
			}
			if i > 0 && want.Scale == first {
				t.Errorf("%s: the scale stays at %v", scaling, first)
			}
		}
		if scaling != "to:2" {
			continue
		}
		for i, want := range []float64{.5, 1, 2} {
			if got := straight.state.History[i].Scale; math.Abs(got-want) > 1e-6 {
				t.Errorf("epoch %d has scale %v, want %v", i+1, got, want)
			}
		}
	}
}

// The model that a run leaves has the scale that it learned, and no trace of how.
func TestARunLeavesAModelOfItsScale(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Scaling = model.ScaleLearn
	s := begin(t, c)
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	want, err := s.model.Scale()
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := model.Load(s.folder.Path(run.LastFile), newTestEngine(t))
	if err != nil {
		t.Fatal(err)
	}
	if m.Spec.Scale != want || want == 1 || m.Spec.Scaling != model.ScaleFixed {
		t.Errorf("scale %v, scaling %q, want %v", m.Spec.Scale, m.Spec.Scaling, want)
	}
}
