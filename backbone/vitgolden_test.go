package backbone_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// isTransformer reports whether a case is of a vision transformer with a layout, of its
// names, or of a resampling of positions.
func isTransformer(c *golden.Case) bool {
	if strings.HasPrefix(c.Name, "map_") {
		return c.Params.String("to", "") == "timm"
	}
	return c.Params.Has("heads") && c.Params.Has("layer_scale") || strings.HasPrefix(c.Name, "posembed_")
}

func checkTransformer(t *testing.T, eng engine.Engine, c *golden.Case) {
	switch {
	case strings.HasPrefix(c.Name, "posembed_"):
		checkPositions(t, eng, c)
	case strings.HasPrefix(c.Name, "map_"):
		checkMap(t, c)
	case strings.HasPrefix(c.Name, "names_"):
		checkNames(t, eng, c)
	default:
		newVitRun(t, eng, c).network()
	}
}

// rows decodes a list of a case.
func rows(t *testing.T, c *golden.Case, what string) (list [][]any) {
	t.Helper()
	if err := json.Unmarshal(c.Raw[what], &list); err != nil || len(list) == 0 {
		t.Fatalf("%d %s (%v)", len(list), what, err)
	}
	return list
}

// checkMap compares what becomes of every name of a layout. The canonical form of networks
// with registers here keeps the row of the class token in the table of positions, where that
// of the file has it ("class position").
func checkMap(t *testing.T, c *golden.Case) {
	var tensors []weights.Spec
	for _, row := range rows(t, c, "map") {
		tensors = append(tensors, weights.Spec{Name: row[0].(string), Shape: []int{1}})
	}
	l := weights.LayoutOf(fileOfShapes(t, tensors))
	if l == nil {
		t.Fatal("no layout has these names")
	}
	for _, row := range rows(t, c, "map") {
		name, want, op := row[0].(string), row[1].(string), row[2].(string)
		switch op {
		case "copy", "class position", "ignore":
			op = ""
		}
		_, to, how := l.Rename(name)
		if to != want || string(how) != op {
			t.Errorf("%s: %s becomes %q (%s), want %q (%s)", l.Name, name, to, how, want, op)
		}
	}
}

// zeros is a file of a header and zeros behind it.
type zeros struct {
	header []byte
	size   int64
}

func (z zeros) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), z.size-off))
	if n <= 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	if off < int64(len(z.header)) {
		copy(p[:n], z.header[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// safetensorsHeader is what a file of float32 tensors begins with, and their bytes.
func safetensorsHeader(t *testing.T, tensors []weights.Spec) (header []byte, data int64) {
	t.Helper()
	entries := map[string]any{}
	for _, s := range tensors {
		size := int64(4)
		for _, d := range s.Shape {
			size *= int64(d)
		}
		entries[s.Name] = map[string]any{"dtype": "F32", "shape": s.Shape, "data_offsets": []int64{data, data + size}}
		data += size
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	header = make([]byte, 8)
	for i, n := 0, len(text); i < 8; i++ {
		header[i] = byte(n >> (8 * i))
	}
	return append(header, text...), data
}

// fileOfShapes is a weight file whose numbers are 0 and take no memory.
func fileOfShapes(t *testing.T, tensors []weights.Spec) *weights.File {
	t.Helper()
	header, data := safetensorsHeader(t, tensors)
	size := int64(len(header)) + data
	f, err := weights.NewFile(zeros{header, size}, size, "names.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkNames wants every tensor of the public file to have a place in the network, or to be
// one that it ignores.
func checkNames(t *testing.T, eng engine.Engine, c *golden.Case) {
	var tensors []weights.Spec
	total := 0
	for _, row := range rows(t, c, "names") {
		s := weights.Spec{Name: row[0].(string), Shape: []int{}}
		n := 1
		for _, d := range row[1].([]any) {
			s.Shape = append(s.Shape, int(d.(float64)))
			n *= int(d.(float64))
		}
		if row[2] != "buffer" {
			total += n
		}
		tensors = append(tensors, s)
	}
	if want := c.Params.Int("total_parameters", 0); total != want {
		t.Errorf("the file has %d numbers, says %d", total, want)
	}
	net, err := backbone.New(vitSpec(c))
	if err != nil {
		t.Fatal(err)
	}
	if !othersPictures(c.Name) {
		(&goldenRun{t: t, c: c, net: net}).preprocessing()
	}
	f := fileOfShapes(t, tensors)
	if l := weights.LayoutOf(f); l == nil {
		t.Fatal("no layout has these names")
	} else if f, err = l.Arrange(f); err != nil {
		t.Fatal(err)
	}
	side := net.Preprocessing().Size
	want := wholeParams(t, eng, net, c.Params.Int("depth", 12), side)
	rules := weights.Rules{Ignore: net.Ignored()}
	_, err = weights.Fit(f, want, rules)
	if bad, ok := err.(*weights.MismatchError); ok && len(bad.Misshaped) == 1 && len(bad.Missing)+len(bad.Unexpected) == 0 {
		b := bad.Misshaped[0] // positions of another grid, or without the class token's row
		n := b.Have[0] * b.Have[1] * b.Have[2]
		if fitted, ok := net.(backbone.Fitter).Fit(b.Name, make([]float32, n), b.Have, b.Want); ok && len(fitted) == b.Want[1]*b.Want[2] {
			return
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// othersPictures reports whether a file wants its pictures in another way than the authors
// of its network do, which settings of a run say.
func othersPictures(name string) bool {
	return strings.HasPrefix(name, "names_hf_vit") || strings.HasPrefix(name, "names_tv_") ||
		strings.HasPrefix(name, "names_timm_") && (strings.HasSuffix(name, "_dinov2") || strings.Contains(name, "_clip_"))
}

// wholeParams are names and shapes of a network's parameters. One block stands for all.
func wholeParams(t *testing.T, eng engine.Engine, net backbone.Backbone, depth, side int) (want []weights.Spec) {
	t.Helper()
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	backbone.WithDepth(net, 1).Forward(g, g.Input("images", 1, 3, side, side), backbone.Mode{})
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range ps.All() {
		rest, block := strings.CutPrefix(p.Name, "blocks.0.")
		for i := range depth {
			s := weights.Spec{Name: p.Name, Shape: slices.Clone([]int(p.Value.Shape()))}
			if block {
				s.Name = fmt.Sprintf("blocks.%d.%s", i, rest)
			}
			want = append(want, s)
			if !block {
				break
			}
		}
	}
	return want
}

// vitSpec is the network of a case: the one of its family and size, and what its files have
// otherwise. What the family itself says (epsilon, method of resampling) is not repeated.
func vitSpec(c *golden.Case) string {
	p := c.Params
	size := map[int]string{192: "t", 384: "s", 768: "b", 1024: "l"}[p.Int("dim", 0)]
	member := fmt.Sprintf("%s%d", size, p.Int("patch", 0))
	layout := p.String("layout", strings.TrimPrefix(c.Name, "names_"))
	hf := strings.HasPrefix(layout, "hf_")
	spec := "vit" + member
	switch {
	case p.Bool("norm_pre", false):
		spec = "clip" + member
		if p.String("gelu", "") == "erf" {
			spec = "openclip" + member
		}
	case p.Bool("layer_scale", false):
		spec = "dinov2" + member
		if n := p.Int("registers", 0); n > 0 {
			spec += fmt.Sprintf("reg%d", n)
		}
	case strings.HasPrefix(layout, "dino"):
		spec = "dino" + member
	}
	if strings.HasPrefix(layout, "hf_vit") {
		spec = backbone.WithOption(spec, "eps", "1e-12")
	}
	if method := p.String("pos_interpolation", ""); hf && method != "" || method == "plain" {
		spec = backbone.WithOption(spec, "positions", method)
	}
	if grid := p.Int("pos_grid", 0); grid > 0 {
		spec = backbone.WithOption(spec, "grid", fmt.Sprint(grid))
	}
	return spec
}

// vitRun is a case of a whole transformer.
type vitRun struct {
	goldenRun
	layout *weights.Layout
	names  map[string]string // of the layout to those of the network
}

// layoutOf is the layout of a case.
func layoutOf(t *testing.T, c *golden.Case) *weights.Layout {
	t.Helper()
	name, ok := map[string]string{
		"timm": "timm, DINO or DINOv2", "dino": "timm, DINO or DINOv2", "dinov2": "timm, DINO or DINOv2", "torchvision": "torchvision's vision transformers",
		"hf_vit": "transformers' ViT", "hf_dinov2": "transformers' DINOv2", "hf_clip_vision": "transformers' CLIP", "clip": "CLIP and OpenCLIP",
	}[c.Params.String("layout", "")]
	for _, l := range weights.Layouts() {
		if ok && l.Name == name {
			return &l
		}
	}
	t.Fatalf("no layout %q", c.Params.String("layout", ""))
	return nil
}

func newVitRun(t *testing.T, eng engine.Engine, c *golden.Case) *vitRun {
	net, err := backbone.New(vitSpec(c))
	if err != nil {
		t.Fatal(err)
	}
	r := &vitRun{layout: layoutOf(t, c), names: map[string]string{}}
	r.goldenRun = goldenRun{t: t, c: c, eng: eng, gen: generator{c.Params.String("seed", "")}, outputs: c.Outputs}
	r.net = backbone.WithDepth(net, c.Params.Int("depth", 0))
	return r
}

func (r *vitRun) network() {
	c, t := r.c, r.t
	r.build(c.Params.Ints("input_shape"), backbone.Mode{})
	nodes := map[string]*layers.Node{"cls_token_features": r.g.Token("cls", r.blocks["norm"], 0)}
	if head := r.blocks["head"]; head != nil {
		nodes["projected_features"] = r.g.Token("projected", head, 0)
	}
	if _, ok := c.Outputs["logits_first16"]; ok {
		nodes["logits_first16"] = r.linear(r.inLayout("head."), nodes["cls_token_features"], 1000)
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
	r.load()
	in := r.gen.uniform(c.Params.String("input", "input"), r.g.Value(r.input).Size())
	if err := r.eng.Write(r.g.Value(r.input), in); err != nil {
		t.Fatal(err)
	}
	if err := r.g.Run(); err != nil {
		t.Fatal(err)
	}
	r.activations()
	for name, n := range nodes {
		r.features(name, n)
	}
	r.meanPatch()
	if loss != nil {
		r.gradientsOf(r.gradient)
	}
	for name := range r.outputs {
		t.Errorf("output %q was not compared", name)
	}
}

// inLayout is the name that the layout has for one of the network, which may end at a dot.
func (r *vitRun) inLayout(name string) string {
	whole := strings.TrimSuffix(name, ".")
	if whole != name {
		whole += ".weight"
	}
	file, _ := r.inverse(whole)
	return strings.TrimSuffix(file, ".weight")
}

// inverse is a name of the layout that becomes one of the network, and how.
func (r *vitRun) inverse(name string) (file string, how weights.Change) {
	for _, row := range r.layout.Rows {
		if row.To == "" || row.How == weights.Refused || strings.Contains(row.From, "%") {
			continue
		}
		back := weights.Layout{Rows: []weights.Rename{{From: row.To, To: row.From}}}
		if prefix, from, _ := back.Rename(name); prefix == "" && from != name {
			return from, row.How
		}
	}
	return name, weights.AsIs
}

// file makes the case's file: the generator fills tensors by the names of the layout.
func (r *vitRun) file() *weights.File {
	t := r.t
	t.Helper()
	prefix := r.c.Params.String("public_prefix", "")
	var scaled map[string]float64
	if raw := r.c.Params["scaled"]; raw != nil {
		text, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &scaled); err != nil {
			t.Fatal(err)
		}
	}
	var specs []weights.Spec
	var data bytes.Buffer
	add := func(name string, shape []int) {
		values := r.gen.fill(name, shape)
		for i := range values {
			if s, ok := scaled[name]; ok {
				values[i] *= float32(s)
			}
		}
		specs = append(specs, weights.Spec{Name: prefix + name, Shape: shape})
		for _, v := range values {
			bits := math.Float32bits(v)
			data.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
		}
	}
	for _, p := range r.ps.All() {
		shape := slices.Clone([]int(p.Value.Shape()))
		name, how := r.inverse(p.Name)
		r.names[name] = p.Name
		switch how {
		case weights.Leading:
			for len(shape) > 1 && shape[0] == 1 {
				shape = shape[1:]
			}
		case weights.Transposed:
			slices.Reverse(shape)
		case weights.Rows0:
			shape[0] /= 3
			for _, part := range r.thirds(p.Name) {
				add(part, shape)
			}
			continue
		}
		add(name, shape)
	}
	header, _ := safetensorsHeader(t, specs)
	all := append(header, data.Bytes()...)
	f, err := weights.NewFile(bytes.NewReader(all), int64(len(all)), filepath.Base(r.c.Name)+".safetensors")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// thirds are the names of queries, keys and values of one tensor.
func (r *vitRun) thirds(name string) []string {
	parts := make([]string, 3)
	for _, row := range r.layout.Rows {
		for i, how := range []weights.Change{weights.Rows0, weights.Rows1, weights.Rows2} {
			back := weights.Layout{Rows: []weights.Rename{{From: row.To, To: row.From}}}
			if prefix, from, _ := back.Rename(name); row.How == how && prefix == "" && from != name {
				parts[i] = from
			}
		}
	}
	return parts
}

// load fills the network from the case's file.
func (r *vitRun) load() {
	t := r.t
	t.Helper()
	f := r.file()
	l := weights.LayoutOf(f)
	if l == nil || l.Name != r.layout.Name {
		t.Fatalf("the file is taken for one of layout %v", l)
	}
	f, err := l.Arrange(f)
	if err != nil {
		t.Fatal(err)
	}
	var want []weights.Spec
	for _, p := range r.ps.All() {
		want = append(want, weights.Spec{Name: p.Name, Shape: slices.Clone([]int(p.Value.Shape()))})
	}
	values, _, err := weights.Load(f, want, weights.Rules{Ignore: r.net.Ignored()})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range values {
		if err := r.eng.Write(r.ps.Get(name).Value, v); err != nil {
			t.Fatal(err)
		}
	}
}

// activations compares inner values. What attention and MLP give is scaled here, and not in
// the case.
func (r *vitRun) activations() {
	tokensIn := "tokens"
	if before := r.blocks["norm_pre"]; before != nil {
		r.activation("act/tokens_before_norm_pre", r.blocks["tokens"])
		tokensIn = "norm_pre"
	}
	r.activation("act/patch_embed", r.blocks["patch_embed"])
	r.activation("act/tokens_in", r.blocks[tokensIn])
	for i, part := range []string{"attn", "mlp"} {
		if gamma := r.ps.Get(fmt.Sprintf("blocks.0.ls%d.gamma", i+1)); gamma != nil {
			r.unscaled("act/block0."+part, r.blocks["blocks.0."+part], r.read(gamma.Value))
			continue
		}
		r.activation("act/block0."+part, r.blocks["blocks.0."+part])
	}
	for _, name := range slices.Sorted(maps.Keys(r.outputs)) {
		if block, ok := strings.CutPrefix(name, "act/block"); ok && strings.HasSuffix(block, "/shape") {
			block = strings.TrimSuffix(block, "/shape")
			r.activation("act/block"+block, r.blocks["blocks."+block])
		}
	}
	r.activation("act/norm", r.blocks["norm"])
}

// unscaled compares the first values of an activation without its scale; what else a case
// says of it is seen in what follows.
func (r *vitRun) unscaled(name string, n *layers.Node, gamma []float32) {
	shape, ok := r.take(name + "/shape")
	if !ok {
		return
	}
	if got := []int(n.Shape()); !slices.Equal(got, shape.Ints()) {
		r.t.Errorf("%s: shape %v, want %v", name, got, shape.Ints())
	}
	x := r.read(r.g.Value(n))
	most, sum, squares := 0., 0., 0.
	for i, v := range x {
		x[i] = v / gamma[i%len(gamma)]
		most = max(most, math.Abs(float64(x[i])))
		sum += float64(x[i])
		squares += float64(x[i]) * float64(x[i])
	}
	mean := sum / float64(len(x))
	limit := featureLimit * most
	r.near(name+"/mean_std", []float64{mean, math.Sqrt(squares/float64(len(x)) - mean*mean)}, limit)
	r.near(name+"/first8", wide(x[:8]), limit)
}

// meanPatch compares the mean of the places, without class token and registers.
func (r *vitRun) meanPatch() {
	want, ok := r.take("mean_patch_tokens_first16")
	if !ok {
		return
	}
	tokens := r.blocks["norm"]
	s, x, skip := tokens.Shape(), r.read(r.g.Value(tokens)), 1+r.c.Params.Int("registers", 0)
	var means []float32
	for i := range s[0] {
		for k := range want.Shape[1] {
			sum := 0.
			for j := skip; j < s[1]; j++ {
				sum += float64(x[(i*s[1]+j)*s[2]+k])
			}
			means = append(means, float32(sum/float64(s[1]-skip)))
		}
	}
	golden.Within32(r.t, "mean_patch_tokens_first16", means, want.Data, featureLimit, 0)
}

// gradient returns that of a tensor of the layout.
func (r *vitRun) gradient(name string) []float32 {
	_, to, how := r.layout.Rename(name)
	p := r.ps.Get(to)
	if p == nil {
		return nil
	}
	x := r.read(r.g.ParamGrad(p))
	if how != weights.Transposed {
		return x
	}
	rows, columns := p.Value.Shape()[0], p.Value.Shape()[1]
	turned := make([]float32, len(x))
	for i, v := range x {
		turned[i%columns*rows+i/columns] = v
	}
	return turned
}

// checkPositions resamples a table in both ways that networks have, and by a matrix.
func checkPositions(t *testing.T, eng engine.Engine, c *golden.Case) {
	gen := generator{c.Params.String("seed", "")}
	d, method := c.Params.Int("dim", 0), backbone.Positions(c.Params.String("method", ""))
	for _, name := range slices.Sorted(maps.Keys(c.Outputs)) {
		var from, h, w int
		if _, err := fmt.Sscanf(name, "resized/%d_to_%dx%d", &from, &h, &w); err != nil {
			t.Fatalf("output %q: %v", name, err)
		}
		want := c.Outputs[name]
		table := gen.fill(c.Params.String("input", ""), []int{1, 1 + from*from, d})
		if h == from && w == from { // which networks leave as they are
			golden.Within32(t, name, table, want.Data, 1e-7, 0)
			continue
		}
		got := append(slices.Clone(table[:d]), method.ResampleGrid(table[d:], from, h, w, d)...)
		golden.Within32(t, name, got, want.Data, 1e-6, 0)
		m := method.Matrix(from, h, w)
		for i := range h * w {
			for k := range d {
				sum := 0.
				for j := range from * from {
					sum += float64(m[i*from*from+j]) * float64(table[(1+j)*d+k])
				}
				got[(1+i)*d+k] = float32(sum)
			}
		}
		golden.Within32(t, name+" by a matrix", got, want.Data, 1e-6, 0)
	}
}
