package backbone_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

// Limits relative to the largest value of a tensor.
//
// With the statistics of a batch of three small images BN-Inception is badly
// conditioned on the generated weights: changing its input by 1e-7 changes its
// features by 5e-5 and its loss by 1e-4 of themselves, whatever the engine. So
// its gradients in float32 agree with those in float64 to a few 1e-3 of their
// norms only, and single elements to about 1e-2 (0.6e-2 with direct convolutions,
// 1.2e-2 with Winograd's).
const (
	featureLimit       = 1e-4
	gradientLimit      = 1e-3
	batchGradientLimit = 1e-2
	batchElementLimit  = 3e-2
)

// zeroGradient is what counts as 0 in a gradient, against the largest norm of
// the case: that of a bias before a normalization by the batch.
const zeroGradient = 1e-6

// linear adds the classifier or the embedding layer with generated weights.
func (r *goldenRun) linear(name string, x *layers.Node, out int) *layers.Node {
	if x == nil {
		return nil
	}
	in := x.Shape()[1]
	w, b := r.g.Input(name+".weight", out, in), r.g.Input(name+".bias", out)
	for n, shape := range map[string][]int{".weight": {out, in}, ".bias": {out}} {
		node := w
		if n == ".bias" {
			node = b
		}
		if err := r.eng.Write(r.g.Value(node), r.gen.fill(r.fileName(name+n), shape)); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.g.Linear(name, x, w, b)
}

// loss adds sum(features * r) and its reverse pass.
func (r *goldenRun) loss(nodes map[string]*layers.Node) *layers.Node {
	var x *layers.Node
	if formula := r.c.Params.String("loss", "sum(pooled_avg_plus_max * r)"); strings.HasPrefix(formula, "sum(") {
		x = nodes[strings.TrimSpace(strings.Split(strings.TrimPrefix(formula, "sum("), "*")[0])]
	}
	if x == nil {
		r.t.Fatalf("loss %q of unknown features", r.c.Params.String("loss", ""))
	}
	weights := r.gen.uniform(r.c.Params.String("r", "r"), x.Shape().TotalSize())
	loss := r.g.HostLoss("loss", func(values, grads [][]float64) (float64, error) {
		sum := 0.
		for i, w := range weights {
			sum += float64(w) * values[0][i]
			if grads[0] != nil {
				grads[0][i] = float64(w)
			}
		}
		return sum, nil
	}, x)
	r.g.Backward(loss, nil)
	return loss
}

// fileName is the name by which a parameter is filled.
func (r *goldenRun) fileName(name string) string {
	if other, ok := r.fileNames[name]; ok {
		return other
	}
	return name
}

func (r *goldenRun) read(v engine.Tensor) []float32 {
	r.t.Helper()
	if v == nil {
		r.t.Fatal("there is no such tensor")
	}
	host := make([]float32, v.Size())
	if err := r.eng.Read(host, v); err != nil {
		r.t.Fatal(err)
	}
	return host
}

// take returns an output of the case and strikes it off.
func (r *goldenRun) take(name string) (golden.Tensor, bool) {
	v, ok := r.outputs[name]
	delete(r.outputs, name)
	return v, ok
}

// pointsOf returns the points of the case that lie in a block: the block, a group
// that ends with it, and what the transformer observes inside it.
func (r *goldenRun) pointsOf(block string) map[string]string {
	points := map[string]string{block: block}
	for group := block; group != ""; {
		group = group[:max(0, strings.LastIndexByte(group, '.'))]
		if last, err := backbone.FindBlock(r.net, group); err == nil && last == block {
			points[group] = block
		}
	}
	for point, b := range r.points {
		if b == block || strings.HasPrefix(b, block+".") && !slices.Contains(r.net.Blocks(), b) {
			points[point] = b
		}
	}
	return points
}

func (r *goldenRun) activation(name string, n *layers.Node) {
	shape, ok := r.take(name + "/shape")
	if !ok {
		return
	}
	if n == nil {
		r.t.Errorf("%s: no such block", name)
		return
	}
	x, got := r.read(r.g.Value(n)), []int(n.Shape())
	if len(got) == 4 && len(shape.Data) == 3 {
		x, got = asTokens(x, got)
	}
	if !slices.Equal(shape.Ints(), got) {
		r.t.Errorf("%s: shape %v, want %v", name, got, shape.Ints())
	}
	most, sum := 0., 0.
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
		sum += float64(v)
	}
	mean, squares := sum/float64(len(x)), 0.
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	limit := featureLimit * most
	r.near(name+"/mean_std", []float64{mean, math.Sqrt(squares / float64(len(x)))}, limit)
	r.near(name+"/first8", wide(x[:8]), limit)
}

// asTokens turns a map (N, C, H, W) into (N, H*W, C), as timm's patch embedding
// gives it out.
func asTokens(x []float32, s []int) ([]float32, []int) {
	out := make([]float32, len(x))
	area := s[2] * s[3]
	for i, v := range x {
		n, c, at := i/(s[1]*area), i/area%s[1], i%area
		out[(n*area+at)*s[1]+c] = v
	}
	return out, []int{s[0], area, s[1]}
}

// near compares with an output to an absolute limit.
func (r *goldenRun) near(name string, got []float64, limit float64) {
	r.t.Helper()
	want, ok := r.take(name)
	if !ok {
		return
	}
	if err := golden.Compare(got, want.Data, func(float64) float64 { return limit }); err != nil {
		r.t.Errorf("%s: %v", name, err)
	}
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// features compares rows, of which a case may list the first columns only.
func (r *goldenRun) features(name string, n *layers.Node) {
	want, ok := r.take(name)
	if !ok {
		return
	}
	x := r.read(r.g.Value(n))
	if rows := want.Shape; len(rows) == 2 {
		columns := len(x) / rows[0]
		var cut []float32
		for i := range rows[0] {
			cut = append(cut, x[i*columns:i*columns+rows[1]]...)
		}
		x = cut
	}
	limit := featureLimit
	if name == "loss" {
		limit = gradientLimit
	}
	golden.Within32(r.t, name, x, want.Data, limit, 0)
	if name == "pooled_avg_plus_max_first32" {
		all := wide(r.read(r.g.Value(n)))
		r.near("pooled_mean_std", meanStd(all), featureLimit*golden.MaxAbs(all))
	}
}

func meanStd(x []float64) []float64 {
	sum, squares := 0., 0.
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return []float64{mean, math.Sqrt(squares / float64(len(x)))}
}

// statistics compares the feature map's shape, patch tokens, and the running
// statistics after one step.
func (r *goldenRun) statistics() {
	if want, ok := r.take("feature_map_shape"); ok && !slices.Equal(want.Ints(), []int(r.out.Shape())) {
		r.t.Errorf("feature map %v, want %v", r.out.Shape(), want.Ints())
	}
	if want, ok := r.take("mean_patch_tokens_first16"); ok {
		s, x := r.out.Shape(), r.read(r.g.Value(r.out))
		var means []float32
		for i := range s[0] {
			mean := make([]float64, s[2])
			for j := 1; j < s[1]; j++ {
				for k := range mean {
					mean[k] += float64(x[(i*s[1]+j)*s[2]+k]) / float64(s[1]-1)
				}
			}
			for k := range want.Shape[1] {
				means = append(means, float32(mean[k]))
			}
		}
		golden.Within32(r.t, "mean_patch_tokens_first16", means, want.Data, featureLimit, 0)
	}
	r.runningStatistics()
}

// maxForwards is how often the peer may have shown its network the batch
// before its running statistics were written down, where the case does not say
// it: by the numbers of BN-Inception it was three times.
const maxForwards = 3

// runningStatistics compares the running statistics. After each forward pass of
// the same batch they are closer to the batch's.
func (r *goldenRun) runningStatistics() {
	want := map[string]golden.Tensor{}
	for _, name := range slices.Sorted(maps.Keys(r.outputs)) {
		if param, ok := strings.CutSuffix(name, "_after/first8"); ok {
			want[param], _ = r.take(name)
		}
	}
	if len(want) == 0 {
		return
	}
	var errs []error
	forwards := r.c.Params.Int("forwards_before_running_statistics", maxForwards)
	for range forwards {
		errs = nil
		for param, w := range want {
			limit := featureLimit * golden.MaxAbs(w.Data)
			if err := golden.Compare(wide(r.read(r.ps.Get(param).Value)[:8]), w.Data, func(float64) float64 { return limit }); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", param, err))
			}
		}
		if errs == nil {
			return
		}
		if err := r.g.Run(); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Errorf("running statistics, after %d forward passes still: %v", forwards, errors.Join(errs...))
}

// gradients compares norm, mean and first values. A value is small against the
// largest of its tensor only, so that is what limits it.
func (r *goldenRun) gradients(loss *layers.Node) {
	if loss == nil {
		return
	}
	r.gradientsOf(func(param string) []float32 {
		if p := r.ps.Get(param); p != nil {
			return r.read(r.g.ParamGrad(p))
		}
		return nil
	})
}

// gradientsOf is gradients with those of parameters as the case calls and orders them, nil
// for what is no parameter.
func (r *goldenRun) gradientsOf(of func(name string) []float32) {
	limit, single, floor := gradientLimit, gradientLimit, 0.
	if r.c.Params.String("mode", "eval") == "train" {
		limit, single = batchGradientLimit, batchElementLimit
	}
	for name, want := range r.outputs {
		if strings.HasSuffix(name, "/norm_mean") {
			floor = max(floor, zeroGradient*want.Data[0])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.outputs)) {
		name, ok := strings.CutPrefix(key, "grad/")
		if !ok {
			continue
		}
		name, ok = strings.CutSuffix(name, "/norm_mean")
		if !ok {
			continue
		}
		var got32 []float32
		if name == "input" {
			got32 = r.read(r.g.Value(r.g.GradOf(r.input)))
		} else {
			got32 = of(name)
		}
		if got32 == nil {
			r.t.Errorf("no gradient of %q", name)
			continue
		}
		x := wide(got32)
		sum, squares := 0., 0.
		for _, v := range x {
			sum += v
			squares += v * v
		}
		norm, most := math.Sqrt(squares), golden.MaxAbs(x)
		want, _ := r.take(key)
		got := []float64{norm, sum / float64(len(x))}
		limits := []float64{limit*norm + floor, limit*most + floor}
		for i, what := range []string{"norm", "mean"} {
			if d := math.Abs(got[i] - want.Data[i]); !(d <= limits[i]) {
				r.t.Errorf("grad/%s: %s %v, want %v (off by %.3g, limit %.3g)", name, what, got[i], want.Data[i], d, limits[i])
			}
		}
		r.near("grad/"+name+"/first8", x[:min(8, len(x))], single*most+floor)
	}
}
