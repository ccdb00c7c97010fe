package backbone_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

// goldenNet is a network of the cases whose names begin with a prefix.
type goldenNet struct {
	prefix, spec string
	make         func() (backbone.Backbone, error) // in place of spec
	last         string                            // the classifier
	points       string                            // of a case that are not named as blocks
}

// goldenNets are the networks, the longer of two prefixes first.
func goldenNets() []goldenNet {
	const stem = "stem_relu=conv1"
	nets := []goldenNet{
		{prefix: "bn_inception", spec: "bninception", last: "last_linear", points: "conv1_relu=conv1_7x7_s2 pool1=pool1_3x3_s2 conv2_relu=conv2_3x3 pool2=pool2_3x3_s2"},
		{prefix: "googlenet", spec: "googlenet", last: "fc"},
		{prefix: "inception_v3", spec: "inceptionv3", last: "fc"},
		{prefix: "vit_small_patch16", spec: "vits16", last: "head", points: "tokens_in=tokens block0=blocks.0 block5=blocks.5 block11=blocks.11 block0.attn=blocks.0.attn block0.mlp=blocks.0.mlp"},
		{prefix: "resnet_bottleneck_1111", last: "fc", points: stem, make: func() (backbone.Backbone, error) {
			return backbone.ResNetOf([4]int{1, 1, 1, 1}, true)
		}},
	}
	for _, name := range []string{"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"} {
		nets = append(nets, goldenNet{prefix: name, spec: name, last: "fc", points: stem})
	}
	for i := range 3 {
		nets = append(nets, goldenNet{prefix: fmt.Sprintf("efficientnet_lite%d", i), spec: fmt.Sprintf("efficientnetlite%d", i), last: "_fc"})
	}
	return nets
}

// goldenNetOf returns the network of a case.
func goldenNetOf(c *golden.Case) (goldenNet, bool) {
	name := strings.TrimPrefix(c.Name, "names_")
	for _, n := range goldenNets() {
		if strings.HasPrefix(name, n.prefix) {
			return n, true
		}
	}
	return goldenNet{}, false
}

// backbone makes the network as a case wants it.
func (n goldenNet) backbone(c *golden.Case) (backbone.Backbone, error) {
	if n.make != nil {
		return n.make()
	}
	spec := n.spec
	if c.Params.Has("count_include_pad") {
		spec = backbone.WithOption(spec, "count-pad", fmt.Sprint(c.Params.Bool("count_include_pad", true)))
	}
	if c.Params.Has("bn_momentum") {
		spec = backbone.WithOption(spec, "bn-momentum", fmt.Sprint(c.Params.Float("bn_momentum", 0)))
	}
	return backbone.New(spec)
}

// TestGoldenBackbones runs every network on generated weights and compares
// names, features, intermediate activations, gradients and statistics.
func TestGoldenBackbones(t *testing.T) {
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	golden.Walk(t, "backbones", func(t *testing.T, c *golden.Case) {
		switch {
		case strings.HasPrefix(c.Name, "generator"):
			checkGenerator(t, c)
			return
		case isConvNeXt(c):
			checkConvNeXt(t, eng, c)
			return
		case isTransformer(c):
			checkTransformer(t, eng, c)
			return
		}
		n, ok := goldenNetOf(c)
		if !ok {
			t.Fatalf("no network for case %q", c.Name)
		}
		r := &goldenRun{t: t, c: c, eng: eng, gen: generator{c.Params.String("seed", "")}, last: n.last, points: map[string]string{}}
		if r.net, err = n.backbone(c); err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(n.points) {
			from, to, _ := strings.Cut(p, "=")
			r.points[from] = to
		}
		if c.Raw["names"] != nil {
			r.names()
			r.preprocessing()
		} else {
			r.network()
		}
	})
}

func checkGenerator(t *testing.T, c *golden.Case) {
	g := generator{c.Params.String("seed", "")}
	for what, want := range c.Outputs {
		kind, name, _ := strings.Cut(what, "/")
		shapes := map[string][]int{"conv1_7x7_s2.weight": {64, 3, 7, 7}, "cls_token": {1, 1, 384}, "blocks.0.attn.qkv.weight": {1152, 384}}
		shape := shapes[name]
		if s, ok := c.Outputs["filled_shape/"+name]; ok {
			shape = s.Ints()
		}
		if shape == nil {
			shape = []int{64}
		}
		values := g.fill(name, shape)
		switch kind {
		case "key_hex":
			if got := fmt.Sprintf("%016x", g.key(name)); got != want.Strings[0] {
				t.Errorf("%s: %s, want %s", what, got, want.Strings[0])
			}
		case "filled_shape":
		case "uniform_first8":
			golden.Within32(t, what, g.uniform(name, 8), want.Data, 1e-7, 0)
		case "filled_first8":
			golden.Within32(t, what, values[:8], want.Data, 1e-7, 0)
		case "filled_sum":
			sum := 0.
			for _, v := range values {
				sum += float64(v)
			}
			golden.Close64(t, what, []float64{sum}, want, golden.Tolerance{RTol: 1e-6, ATol: 1e-6})
		default:
			t.Errorf("unknown output %q", what)
		}
	}
}

// goldenRun is one case on one network.
type goldenRun struct {
	t      *testing.T
	c      *golden.Case
	eng    engine.Engine
	gen    generator
	net    backbone.Backbone
	last   string            // the classifier
	points map[string]string // of the case to blocks
	// fileNames are those of another layout, by which parameters are filled.
	fileNames map[string]string

	ps      *layers.Params
	g       *layers.Graph
	input   *layers.Node
	blocks  map[string]*layers.Node
	out     *layers.Node
	outputs map[string]golden.Tensor // not compared yet
}

// names compares names, shapes and kinds of parameters with the public file's.
func (r *goldenRun) names() {
	var rows [][]any
	if err := json.Unmarshal(r.c.Raw["names"], &rows); err != nil {
		r.t.Fatal(err)
	}
	side := 224
	want := map[string]string{}
	for _, row := range rows {
		name := row[0].(string)
		if strings.HasSuffix(name, "num_batches_tracked") || strings.HasPrefix(name, "embedding.") || r.ignored(name) {
			continue
		}
		if name == "pos_embed" { // of a grid of patches of 16 pixels
			side = 16 * int(math.Sqrt(row[1].([]any)[1].(float64)-1))
		}
		want[name] = fmt.Sprint(row[1], row[2] == "buffer")
	}
	r.build([]int{1, 3, side, side}, backbone.Mode{})
	if err := r.g.Err(); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range r.ps.All() {
		if got := fmt.Sprint([]int(p.Value.Shape()), p.Role == layers.Buffer); got != want[p.Name] {
			r.t.Errorf("%s: %s, want %q", p.Name, got, want[p.Name])
		}
		delete(want, p.Name)
	}
	for name := range want {
		r.t.Errorf("parameter %s is missing", name)
	}
}

// preprocessing compares how the network wants its pictures.
func (r *goldenRun) preprocessing() {
	var params struct {
		Preprocessing *struct {
			backbone.Preprocessing
			Interpolation string
		}
	}
	if err := json.Unmarshal(r.c.Raw["params"], &params); err != nil {
		r.t.Fatal(err)
	}
	if params.Preprocessing == nil {
		return
	}
	want := params.Preprocessing.Preprocessing
	want.Bicubic = params.Preprocessing.Interpolation == "bicubic"
	if got := r.net.Preprocessing(); got != want {
		r.t.Errorf("preprocessing %+v, want %+v", got, want)
	}
}

// ignored reports whether the network has no use for a name.
func (r *goldenRun) ignored(name string) bool {
	for _, pattern := range r.net.Ignored() {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// build adds the network to a new graph.
func (r *goldenRun) build(shape []int, mode backbone.Mode) {
	r.ps = layers.NewParams(r.eng, 1)
	r.g = layers.NewGraph(r.eng, r.ps)
	r.blocks = map[string]*layers.Node{}
	mode.Observe = func(block string, out *layers.Node) { r.blocks[block] = out }
	r.input = r.g.Input("images", shape...)
	r.g.NeedGrad(r.input)
	r.out = r.net.Forward(r.g, r.input, mode)
}

// network runs the case and compares every output.
func (r *goldenRun) network() {
	c, t := r.c, r.t
	mode := backbone.Mode{}
	if c.Params.String("mode", "eval") == "train" {
		mode = backbone.Training()
	}
	shape := c.Params.Ints("input_shape")
	r.build(shape, mode)
	r.outputs = c.Outputs
	nodes := map[string]*layers.Node{}
	if isConvNeXt(c) {
		nodes = r.convNeXtNodes()
	} else if r.net.Tokens() {
		nodes["cls_token_features"] = r.g.Token("cls", r.out, 0)
		nodes["logits_first16"] = r.linear(r.last, nodes["cls_token_features"], 1000)
	} else {
		avg, most := r.g.GlobalAvg("avg", r.out), r.g.GlobalMax("max", r.out)
		both := r.g.Add(avg, most)
		nodes["pooled_avg"], nodes["pooled_max"], nodes["pooled_avg_plus_max"] = avg, most, both
		nodes["pooled_avg_plus_max_first32"] = both
		nodes["embedding_unnormalised_first16"] = r.linear("embedding", both, 512)
		nodes["embedding_first16"] = r.g.RowNorm("rows", nodes["embedding_unnormalised_first16"], engine.RowNormSpec{Scale: 1, Eps: 1e-12, Smooth: true})
		nodes["logits_first16"] = r.linear(r.last, avg, 1000)
	}
	var loss *layers.Node
	if _, ok := c.Outputs["loss"]; ok {
		loss = r.loss(nodes)
		nodes["loss"] = loss
	}
	for _, n := range nodes {
		r.g.Keep(n)
	}
	if err := r.g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer r.g.Close()
	for _, p := range r.ps.All() {
		if err := r.eng.Write(p.Value, r.gen.fill(r.fileName(p.Name), p.Value.Shape())); err != nil {
			t.Fatal(err)
		}
	}
	in := r.gen.uniform(c.Params.String("input", "input"), r.g.Value(r.input).Size())
	if err := r.eng.Write(r.g.Value(r.input), in); err != nil {
		t.Fatal(err)
	}
	if err := r.g.Run(); err != nil {
		t.Fatal(err)
	}
	// Inner values first: the first one that differs tells where to look.
	for _, b := range r.net.Blocks() {
		for point, block := range r.pointsOf(b) {
			r.activation("act/"+point, r.blocks[block])
		}
	}
	for name, n := range nodes {
		r.features(name, n)
	}
	r.statistics()
	r.gradients(loss)
	for name := range r.outputs {
		if name != "relu_and_pool_margin" {
			t.Errorf("output %q was not compared", name)
		}
	}
}
