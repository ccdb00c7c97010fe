package backbone_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

// squash is an operation of a program's own: sign(x)*log(1+|x|).
type squash struct{}

func (squash) Shape(in ...[]int) ([]int, error) { return in[0], nil }

func (squash) Forward(y layers.Array, x ...layers.Array) error {
	for i, v := range x[0].V {
		y.V[i] = float32(math.Copysign(math.Log1p(math.Abs(float64(v))), float64(v)))
	}
	return nil
}

func (squash) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	for i, v := range x[0].V {
		dx[0].V[i] = dy.V[i] / float32(1+math.Abs(float64(v)))
	}
	return nil
}

// A file of a model names its network, and the program that registered it reads the
// file again. Freezing goes up to its blocks.
func TestAModelWithABackboneAndAnOpOfAProgramsOwn(t *testing.T) {
	if err := layers.CheckHostOp(squash{}, 1, []int{3, 4}); err != nil {
		t.Fatal(err)
	}
	pixels, err := backbone.PixelRange("half")
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, channels int) backbone.Block {
		return backbone.Block{Name: name, Channels: channels, Add: func(b *backbone.Builder, x *layers.Node) *layers.Node {
			return b.Graph.HostOp(name+".squash", squash{}, b.Conv(name, x, channels, engine.SquareConv(3, 2, 1)))
		}}
	}
	backbone.Register("squashed", func() (backbone.Backbone, error) {
		return backbone.Sequence(pixels.WithSize(16), add("one", 4), add("two", 8))
	})
	t.Cleanup(func() { backbone.Unregister("squashed") })
	spec, err := model.DefaultSpec("squashed")
	if err != nil {
		t.Fatal(err)
	}
	spec.Dim = 5
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	m, err := model.New(eng, spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	again, _, err := model.Load(path, eng)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := m.Fingerprint()
	b, errB := again.Fingerprint()
	if a != b || errA != nil || errB != nil {
		t.Errorf("read back it is another model: %v, %v", errA, errB)
	}
	images := make([]float32, 2*3*16*16)
	for i := range images {
		images[i] = float32(math.Sin(float64(i)))
	}
	if x, y := embedWith(t, m, images), embedWith(t, again, images); !slices.Equal(x, y) || len(x) != 10 || x[0] == x[5] {
		t.Errorf("embeddings %v, read back %v", x, y)
	}
	other := filepath.Join(t.TempDir(), "other.safetensors")
	m.Spec.Backbone = "his-net"
	if err := m.Save(other, nil); err != nil {
		t.Fatal(err)
	}
	m.Spec.Backbone = spec.Backbone
	if _, _, err := model.Load(other, eng); err == nil || !strings.Contains(err.Error(), `the model's network, "his-net", is that of a program that registered it (backbone.Register)`) {
		t.Errorf("a network that nobody registered: %v", err)
	}
	if err := m.Freeze(model.Freeze{To: "one"}, false); err != nil {
		t.Fatal(err)
	}
	var frozen []string
	for _, p := range m.Params.All() {
		if p.Frozen {
			frozen = append(frozen, p.Name)
		}
	}
	if got := strings.Join(frozen, " "); got != "one.conv.weight one.bn.weight one.bn.bias" {
		t.Errorf("up to one are frozen: %s", got)
	}
	if err := m.Freeze(model.Freeze{To: "three"}, false); err == nil || !strings.Contains(err.Error(), `"three" names no block (there is: one, two)`) {
		t.Errorf("up to three: %v", err)
	}
	err = m.WriteONNX(filepath.Join(t.TempDir(), "m.onnx"), model.ONNXPreprocessed, nil)
	if err == nil || !strings.Contains(err.Error(), `node "one.squash" is an op of the program's own`) {
		t.Errorf("exported: %v", err)
	}
}

// embedWith embeds images with a model.
func embedWith(t *testing.T, m *model.Model, images []float32) []float32 {
	t.Helper()
	e, err := m.NewEmbedder(2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, err := e.Embed(nil, images)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
