package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

func frozen(m *model.Model) (names []string) {
	for _, p := range m.Params.All() {
		if p.Frozen {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestFreezingNamesExactlyWhatIsMeant(t *testing.T) {
	s := small(t)
	s.HeadNorm = model.HeadNormBatch
	m := newModel(t, s, 1)
	for _, c := range []struct {
		f    model.Freeze
		want string
	}{
		{model.Freeze{}, ""},
		{model.Freeze{BNStats: true}, ""},
		{model.Freeze{Params: []string{"block[13].conv.*"}}, "block1.conv.weight block3.conv.weight"},
		{model.Freeze{BNAffine: true}, "block1.bn.weight block1.bn.bias block2.bn.weight block2.bn.bias block3.bn.weight block3.bn.bias block4.bn.weight block4.bn.bias"},
		{model.Freeze{Params: []string{"block1.*"}}, "block1.conv.weight block1.bn.weight block1.bn.bias"},
		{model.Freeze{To: "block2"}, "block1.conv.weight block1.bn.weight block1.bn.bias block2.conv.weight block2.bn.weight block2.bn.bias"},
		{model.Freeze{To: "block1", Params: []string{"block3.conv.*"}}, "block1.conv.weight block1.bn.weight block1.bn.bias block3.conv.weight"},
	} {
		if err := m.Freeze(c.f, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(frozen(m), " "); got != c.want {
			t.Errorf("%+v freezes %q, want %q", c.f, got, c.want)
		}
	}
}

// The head is what a model adds to its backbone, whatever that calls its parameters.
func TestParametersKnowBackboneAndHead(t *testing.T) {
	spec := small(t)
	spec.HeadNorm, spec.Normalization = model.HeadNormBatch, model.NormCoordinates
	var head []string
	for _, p := range newModel(t, spec, 1).Params.All() {
		switch p.Group {
		case layers.Head:
			head = append(head, p.Name)
		case layers.Loss:
			t.Errorf("%s belongs to a loss", p.Name)
		}
	}
	want := []string{"embedding.norm.weight", "embedding.norm.bias", "embedding.norm.running_mean", "embedding.norm.running_var",
		"embedding.weight", "embedding.bias", "embedding.coordinates.running_mean", "embedding.coordinates.running_var"}
	if !slices.Equal(head, want) {
		t.Errorf("the head has %q, want %q", head, want)
	}
}

func TestTheWarmUpReleasesWhatItFrozeAndNothingElse(t *testing.T) {
	m := newModel(t, small(t), 1)
	f := model.Freeze{BNAffine: true, Params: []string{"block2.conv.weight"}}
	if err := m.Freeze(f, false); err != nil {
		t.Fatal(err)
	}
	want := frozen(m)
	if err := m.Freeze(f, true); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params.All() {
		if p.Trainable() != (p.Group == layers.Head) && p.Role != layers.Buffer {
			t.Errorf("in the warm-up %s is trained: %v", p.Name, p.Trainable())
		}
	}
	if err := m.Freeze(f, false); err != nil {
		t.Fatal(err)
	}
	if got := frozen(m); !slices.Equal(got, want) {
		t.Errorf("after it %q are frozen, before %q", got, want)
	}
}

// Statistics move in training unless they are frozen, all of the backbone or
// those of a part.
func TestFrozenStatisticsStayAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		f     model.Freeze
		still []string
	}{
		{model.Freeze{}, nil},
		{model.Freeze{BNStats: true}, []string{"block1", "block2", "block3", "block4"}},
		{model.Freeze{Params: []string{"block2.*"}}, []string{"block2"}},
		{model.Freeze{Params: []string{"*.weight"}}, nil},
		{model.Freeze{To: "block2"}, []string{"block1", "block2"}},
	} {
		s := small(t)
		s.HeadNorm = model.HeadNormBatch
		m := newModel(t, s, 1)
		if err := m.Freeze(c.f, false); err != nil {
			t.Fatal(err)
		}
		trained(t, m, images(4, 16), 4, 1)
		for _, norm := range []string{"block1.bn", "block2.bn", "block3.bn", "block4.bn", "embedding.norm"} {
			moved := slices.ContainsFunc(values(t, m, norm+".running_mean"), func(v float32) bool { return v != 0 })
			if want := !slices.Contains(c.still, strings.TrimSuffix(norm, ".bn")); moved != want {
				t.Errorf("%+v: statistics of %s moved: %v", c.f, norm, moved)
			}
		}
	}
}

func TestFreezingWhatIsNotThereIsAnError(t *testing.T) {
	m := newModel(t, small(t), 1)
	for says, f := range map[string]model.Freeze{
		"patch_embed": {Params: []string{"patch_embed.*"}},
		"block[":      {Params: []string{"block["}},
		"block4":      {To: "block9"},
	} {
		if err := m.Freeze(f, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	vit := newModel(t, features(t, "vits16", 32), 1)
	if err := vit.Freeze(model.Freeze{BNStats: true}, false); err == nil {
		t.Error("batch normalization of a transformer is frozen")
	}
	if err := vit.Freeze(model.Freeze{Params: []string{"patch_embed.*"}}, false); err != nil {
		t.Error(err)
	}
}
