//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// stepNodes records a training step of a network as `vernier bench NAME-train` has
// it, in bfloat16, and counts the nodes of its graphs by name. Nothing is computed,
// and neither the batch nor the size of the images changes the count.
func stepNodes(t *testing.T, name string, side int) map[string]int {
	t.Helper()
	d := fake.New(4 << 30)
	d.Idle = true
	eng, _ := onFake(t, d, Options{Precision: BF16, Workspace: 64 << 20})
	net, err := backbone.New(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(eng, model.Spec{
		Backbone: name, Input: net.Preprocessing().WithSize(side), Pool: model.DefaultPool(net),
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: 512,
		Normalization: model.NormRows, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine},
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !net.Tokens() {
		if err := m.Freeze(model.Freeze{BNStats: true, BNAffine: true}, false); err != nil {
			t.Fatal(err)
		}
	}
	g := layers.NewGraph(eng, m.Params)
	images := g.Input("images", m.InputShape(2)...)
	e := m.Forward(g, images, true)
	loss := g.HostLoss("loss", func(values, grads [][]float64) (float64, error) { return 0, nil },
		g.Pairwise("cosines", e, e, metric.Metric{Kind: metric.Dot}))
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range 3 { // the third is recorded
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if stretches, refusal := g.Recorded(); stretches != 2 || refusal != nil {
		t.Fatalf("%d recordings, refusal %v", stretches, refusal)
	}
	return d.Nodes()
}

// Every node of a CUDA graph costs a microsecond or more (an estimate), however little it does.
func TestAStepHasFewNodes(t *testing.T) {
	for _, c := range []struct {
		name string
		side int
		most int
	}{
		{"bninception", 32, 370},
		{"resnet50", 32, 283},
		{"vits16", 224, 280}, // whose position embedding is for this size
	} {
		t.Run(c.name, func(t *testing.T) {
			nodes, total := stepNodes(t, c.name, c.side), 0
			var text []string
			for _, name := range slices.SortedFunc(maps.Keys(nodes), func(a, b string) int { return nodes[b] - nodes[a] }) {
				total += nodes[name]
				text = append(text, fmt.Sprintf("%s %d", name, nodes[name]))
			}
			t.Logf("%d nodes: %s", total, strings.Join(text, ", "))
			if total > c.most {
				t.Errorf("%d nodes, want at most %d", total, c.most)
			}
		})
	}
}
