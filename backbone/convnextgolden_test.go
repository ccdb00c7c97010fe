package backbone_test

import (
	"os"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

func isConvNeXt(c *golden.Case) bool { return strings.Contains(c.Name, "convnext") }

// convNeXtPoints are the points of the cases that are not named as blocks.
const convNeXtPoints = "stem=features.0 stage0.block0=features.1.0 stage0=features.1 downsample1=features.2 stage1=features.3 stage2=features.5 downsample3=features.6 stage3=features.7"

func checkConvNeXt(t *testing.T, eng engine.Engine, c *golden.Case) {
	if strings.HasPrefix(c.Name, "map_") {
		checkConvNeXtMap(t, c)
		return
	}
	depths := c.Params.Ints("depths")
	net, err := backbone.ConvNeXtOf([4]int(depths))
	if err != nil {
		t.Fatal(err)
	}
	r := &goldenRun{t: t, c: c, eng: eng, net: net, gen: generator{c.Params.String("seed", "")}, last: "classifier.2", points: map[string]string{}}
	for _, p := range strings.Fields(convNeXtPoints) {
		from, to, _ := strings.Cut(p, "=")
		if to, err = backbone.FindBlock(net, to); err != nil {
			t.Fatal(err)
		}
		r.points[from] = to
	}
	if strings.HasPrefix(c.Name, "names_") {
		r.convNeXtNames()
		return
	}
	if c.Params.String("layout", "") == "timm" {
		r.fileNames = timmNames(t)
	}
	r.network()
}

// checkConvNeXtMap compares what becomes of every name of a layout. Factors by channel are
// vectors here, whatever axes of length 1 a file has.
func checkConvNeXtMap(t *testing.T, c *golden.Case) {
	var tensors []weights.Spec
	for _, row := range rows(t, c, "map") {
		tensors = append(tensors, weights.Spec{Name: row[0].(string), Shape: []int{1}})
	}
	l := weights.LayoutOf(fileOfShapes(t, tensors))
	if l == nil {
		t.Fatal("no layout has these names")
	}
	for _, row := range rows(t, c, "map") {
		if _, to, how := l.Rename(row[0].(string)); to != row[1] || how != weights.AsIs {
			t.Errorf("%s: %s becomes %q (%s), want %q", l.Name, row[0], to, how, row[1])
		}
	}
}

// convNeXtNames wants every tensor of the public file to have a place in the network.
func (r *goldenRun) convNeXtNames() {
	var tensors []weights.Spec
	total := 0
	for _, row := range rows(r.t, r.c, "names") {
		s := weights.Spec{Name: row[0].(string)}
		n := 1
		for _, d := range row[1].([]any) {
			s.Shape = append(s.Shape, int(d.(float64)))
			n *= int(d.(float64))
		}
		total += n
		tensors = append(tensors, s)
	}
	if want := r.c.Params.Int("total_parameters", 0); total != want {
		r.t.Errorf("the file has %d numbers, says %d", total, want)
	}
	f := fileOfShapes(r.t, tensors)
	l, err := weights.LayoutOf(f), error(nil)
	switch {
	case l != nil:
		if f, err = l.Arrange(f); err != nil {
			r.t.Fatal(err)
		}
	case strings.HasSuffix(r.c.Name, "_tv"):
		r.preprocessing() // those of others differ
	default:
		r.t.Fatal("no layout has these names")
	}
	r.build([]int{1, 3, 64, 64}, backbone.Mode{})
	var want []weights.Spec
	for _, p := range r.ps.All() {
		want = append(want, weights.Spec{Name: p.Name, Shape: p.Value.Shape()})
	}
	if _, err := weights.Fit(f, want, weights.Rules{Ignore: r.net.Ignored()}); err != nil {
		r.t.Error(err)
	}
}

// timmNames returns what timm calls each parameter.
func timmNames(t *testing.T) map[string]string {
	const path = "testdata/golden/backbones/map_convnext_tiny_timm.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := golden.Decode(path, text)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, row := range rows(t, c, "map") {
		names[row[1].(string)] = row[0].(string)
	}
	return names
}

// convNeXtNodes are the features of the cases: r.out is then the last map.
func (r *goldenRun) convNeXtNodes() map[string]*layers.Node {
	norm := r.g.Token("row", r.out, 0)
	r.out = r.blocks[r.points["stage3"]]
	return map[string]*layers.Node{
		"pooled_avg": r.g.GlobalAvg("avg", r.out), "pooled_avg_norm": norm, "logits_first16": r.linear(r.last, norm, 1000),
	}
}
