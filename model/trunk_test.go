package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
)

func TestEmbeddingFromABlocksOutputsIsEmbeddingTheImages(t *testing.T) {
	for _, c := range []struct {
		spec  model.Spec
		block string
		shape [3]int
	}{
		{small(t), "block2", [3]int{64, 4, 4}},
		{small(t), "block4", [3]int{128, 2, 2}},
		{features(t, "vits16", 32), "blocks.1", [3]int{1, 5, 384}},
	} {
		m := newModel(t, c.spec, 1)
		pictures := images(5, c.spec.Input.Size)
		embed := func(x []float32) []float32 {
			e, err := m.NewEmbedder(2)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			out, err := e.Embed(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := embed(pictures)
		trunk, err := m.NewTrunk(c.block, 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := trunk.Shape(); got != c.shape {
			t.Errorf("%s: shape %v, want %v", c.block, got, c.shape)
		}
		middle, err := trunk.Embed(nil, pictures)
		if err != nil {
			t.Fatal(err)
		}
		trunk.Close()
		if err := m.Enter(c.block); err != nil {
			t.Fatal(err)
		}
		if got := embed(middle); !slices.Equal(got, want) {
			t.Errorf("%s after %s: other embeddings", c.spec.Backbone, c.block)
		}
		if err := m.Enter(""); err != nil {
			t.Fatal(err)
		}
		if got := embed(pictures); !slices.Equal(got, want) {
			t.Errorf("%s from images again: other embeddings", c.spec.Backbone)
		}
	}
}

func TestTheTrunksDigestIsOfItsParametersAlone(t *testing.T) {
	m := newModel(t, small(t), 1)
	digest := func() string {
		d, err := m.TrunkDigest("block2")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	change := func(name string) {
		p := m.Params.Get(name)
		x := values(t, m, name)
		x[0] += 1
		if err := m.Params.Engine().Write(p.Value, x); err != nil {
			t.Fatal(err)
		}
	}
	first := digest()
	change("block3.conv.weight")
	change("embedding.weight")
	if digest() != first {
		t.Error("a parameter above the block changes the digest")
	}
	change("block2.bn.running_var")
	if digest() == first {
		t.Error("a running variance of the block does not change the digest")
	}
}

func TestABlockThatIsNotThereIsAnError(t *testing.T) {
	m := newModel(t, small(t), 1)
	_, err := m.NewTrunk("block9", 1)
	_, digest := m.TrunkDigest("block9")
	for _, err := range []error{m.Enter("block9"), err, digest} {
		if err == nil || !strings.Contains(err.Error(), "block4") {
			t.Errorf("got %v", err)
		}
	}
}
