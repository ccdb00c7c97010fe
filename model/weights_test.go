package model_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

// features is a model without a linear layer.
func features(t *testing.T, spec string, size int) model.Spec {
	t.Helper()
	net, err := backbone.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return model.Spec{
		Backbone: spec, Input: net.Preprocessing().WithSize(size), Pool: model.DefaultPool(net), HeadNorm: model.HeadNormNone,
		Head: model.HeadNone, Dim: net.Channels(), Normalization: model.NormNone, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine},
	}
}

func newModel(t *testing.T, spec model.Spec, seed uint64) *model.Model {
	t.Helper()
	m, err := model.New(newEngine(t), spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func values(t *testing.T, m *model.Model, name string) []float32 {
	t.Helper()
	p := m.Params.Get(name)
	if p == nil {
		t.Fatalf("no parameter %q", name)
	}
	v := make([]float32, p.Value.Size())
	if err := m.Params.Engine().Read(v, p.Value); err != nil {
		t.Fatal(err)
	}
	return v
}

// public writes the parameters of a model as another program would: change may
// rename or replace a tensor, or drop it by returning nil.
func public(t *testing.T, m *model.Model, change func(*weights.Tensor) *weights.Tensor, more ...*weights.Tensor) string {
	t.Helper()
	var ts []*weights.Tensor
	for _, p := range m.Params.All() {
		h, err := model.HostTensor(m.Params.Engine(), p.Name, p.Value)
		if err != nil {
			t.Fatal(err)
		}
		if h = change(h); h != nil {
			ts = append(ts, h)
		}
	}
	path := filepath.Join(t.TempDir(), "public.safetensors")
	if err := weights.WriteSafetensors(path, append(ts, more...), nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func tensor(t *testing.T, name string, shape ...int) *weights.Tensor {
	t.Helper()
	n := 1
	for _, d := range shape {
		n *= d
	}
	x, err := weights.FromFloat32(name, shape, make([]float32, n))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func same(x *weights.Tensor) *weights.Tensor { return x }

// The published BN-Inception has BN tensors of shape (1, C) in its older files,
// a classifier, and with DataParallel a prefix; newer programs add counters.
func TestAPublicFileWithPrefixClassifierCountersAndRowsOfStatisticsLoads(t *testing.T) {
	from := newModel(t, features(t, "bninception", 96), 1)
	path := public(t, from, func(x *weights.Tensor) *weights.Tensor {
		x.Name = "module.model." + x.Name
		if strings.Contains(x.Name, "_bn.") {
			x.Shape = append([]int{1}, x.Shape...)
		}
		return x
	}, tensor(t, "module.model.last_linear.weight", 1000, 1024), tensor(t, "module.model.last_linear.bias", 1000),
		tensor(t, "module.model.conv1_7x7_s2_bn.num_batches_tracked"))
	to := newModel(t, features(t, "bninception", 96), 2)
	if slices.Equal(values(t, to, "conv2_3x3.weight"), values(t, from, "conv2_3x3.weight")) {
		t.Fatal("two seeds give the same weights")
	}
	// Running statistics are to be loaded too.
	if err := from.Params.Engine().Write(from.Params.Get("conv1_7x7_s2_bn.running_var").Value, make([]float32, 64)); err != nil {
		t.Fatal(err)
	}
	path2 := public(t, from, same)
	for _, p := range []string{path, path2} {
		l, err := to.LoadWeights(p, "")
		if err != nil {
			t.Fatal(err)
		}
		if l.Filled != len(from.Params.All()) || len(l.Kept) != 0 || p == path && len(l.Ignored) != 3 {
			t.Errorf("filled %d of %d, kept %q, ignored %q", l.Filled, len(from.Params.All()), l.Kept, l.Ignored)
		}
	}
	for _, p := range from.Params.All() {
		if !slices.Equal(values(t, to, p.Name), values(t, from, p.Name)) {
			t.Fatalf("%s differs", p.Name)
		}
	}
}

func TestBlocksAfterTheEndOfATrunkAreIgnoredAndNothingElse(t *testing.T) {
	from := newModel(t, features(t, "convnet", 32), 1)
	to := newModel(t, features(t, "convnet:trunk-end=block2", 32), 2)
	l, err := to.LoadWeights(public(t, from, same), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Ignored) != 2*5 || !strings.HasPrefix(l.Ignored[0], "block3.") {
		t.Errorf("ignored %q", l.Ignored)
	}
	_, err = to.LoadWeights(public(t, from, same, tensor(t, "decoder.weight", 3)), "")
	if err == nil || !strings.Contains(err.Error(), "decoder.weight") {
		t.Errorf("a stranger in the file: %v", err)
	}
}

func TestEverythingThatDoesNotFitIsReportedTogetherAndNothingIsChanged(t *testing.T) {
	from := newModel(t, features(t, "convnet", 32), 1)
	path := public(t, from, func(x *weights.Tensor) *weights.Tensor {
		switch x.Name {
		case "block1.conv.weight":
			x.Name = "block1.conv.weigth"
		case "block2.bn.bias":
			return nil
		case "block3.bn.weight":
			return tensor(t, x.Name, 7)
		}
		return x
	})
	to := newModel(t, features(t, "convnet", 32), 2)
	before := values(t, to, "block4.conv.weight")
	_, err := to.LoadWeights(path, "")
	if err == nil {
		t.Fatal("no error")
	}
	for _, says := range []string{"block1.conv.weight [32 3 3 3] (the file has block1.conv.weigth)", "block2.bn.bias", "block3.bn.weight: [7] in the file, [128] wanted"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not say %q: %v", says, err)
		}
	}
	if !slices.Equal(values(t, to, "block4.conv.weight"), before) {
		t.Error("the model changed")
	}
}

func TestWeightsThatAreNotFiniteAreRefusedByName(t *testing.T) {
	from := newModel(t, features(t, "convnet", 32), 1)
	bad := values(t, from, "block2.bn.bias")
	bad[3] = float32(math.NaN())
	if err := from.Params.Engine().Write(from.Params.Get("block2.bn.bias").Value, bad); err != nil {
		t.Fatal(err)
	}
	_, err := newModel(t, features(t, "convnet", 32), 2).LoadWeights(public(t, from, same), "")
	if err == nil || !strings.Contains(err.Error(), "block2.bn.bias") {
		t.Errorf("NaN: %v", err)
	}
}

func TestAHeadInTheFileIsLoadedAndOneThatIsNotThereIsDrawn(t *testing.T) {
	from := newModel(t, small(t), 1)
	to := newModel(t, small(t), 2)
	l, err := to.LoadWeights(public(t, from, same), "")
	if err != nil || len(l.Kept) != 0 || !slices.Equal(values(t, to, "embedding.weight"), values(t, from, "embedding.weight")) {
		t.Errorf("with a head: %v, %+v", err, l)
	}
	to = newModel(t, small(t), 2)
	drawn := values(t, to, "embedding.weight")
	l, err = to.LoadWeights(public(t, from, func(x *weights.Tensor) *weights.Tensor {
		if strings.HasPrefix(x.Name, "embedding.") {
			return nil
		}
		return x
	}), "")
	if err != nil || len(l.Kept) != 2 || !slices.Equal(values(t, to, "embedding.weight"), drawn) {
		t.Errorf("without a head: %v, %+v", err, l)
	}
	none := newModel(t, features(t, "convnet", 16), 2)
	if l, err = none.LoadWeights(public(t, from, same), ""); err != nil || len(l.Ignored) != 2 {
		t.Errorf("a network without a head: %v, %+v", err, l)
	}
}

func TestATransformerForAnotherImageSizeBringsItsPositionsAlong(t *testing.T) {
	from := newModel(t, features(t, "vits16", 32), 1) // a grid of 2 x 2
	path := public(t, from, same, tensor(t, "head.weight", 10, 384), tensor(t, "head.bias", 10))
	to := newModel(t, features(t, "vits16", 64), 2) // 4 x 4
	l, err := to.LoadWeights(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.Resized, []string{"pos_embed"}) || len(l.Ignored) != 2 {
		t.Errorf("%+v", l)
	}
	net, err := backbone.New("vits16")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := net.(backbone.Fitter).Fit("pos_embed", values(t, from, "pos_embed"), []int{1, 5, 384}, []int{1, 17, 384})
	if !slices.Equal(values(t, to, "pos_embed"), want) {
		t.Error("positions differ")
	}
	_, err = to.LoadWeights(public(t, from, func(x *weights.Tensor) *weights.Tensor {
		if x.Name == "pos_embed" {
			return tensor(t, x.Name, 1, 6, 384) // two tokens before the grid
		}
		return x
	}), "")
	if err == nil || !strings.Contains(err.Error(), "pos_embed") {
		t.Errorf("positions of no square grid: %v", err)
	}
}

func TestHeadsThatMakeNoSenseAreRefused(t *testing.T) {
	for says, change := range map[string]func(*model.Spec){
		"transformers":           func(s *model.Spec) { s.Pool = model.PoolCls },
		"64 features":            func(s *model.Spec) { s.Head, s.Backbone = model.HeadNone, "convnet:trunk-end=block2" },
		"needs a linear layer":   func(s *model.Spec) { s.Head, s.Dim, s.HeadNorm = model.HeadNone, 128, model.HeadNormBatch },
		"unknown head":           func(s *model.Spec) { s.Head = "conv:3" },
		"width of a hidden":      func(s *model.Spec) { s.Head = "mlp:64,0" },
		"one hidden layer":       func(s *model.Spec) { s.Head = "residual:64,64" },
		"dropout 1 is not":       func(s *model.Spec) { s.Dropout = 1 },
		"for rows of numbers":    func(s *model.Spec) { s.Pool = model.PoolNone },
		"no pictures to bring":   func(s *model.Spec) { s.Backbone, s.Pool = "features:dim=4", model.PoolNone },
		"normalization of the":   func(s *model.Spec) { s.HeadNorm = "" },
		"divide into patches":    func(s *model.Spec) { s.Backbone, s.Pool, s.Input.Size = "vits16", model.PoolCls, 40 },
		"use \"cls\"":            func(s *model.Spec) { s.Backbone = "vits16" },
		"does not fit a 2x2 map": func(s *model.Spec) { s.Backbone = "inceptionv3"; s.Input.Size, s.Input.Resize = 9, 9 },
	} {
		s := small(t)
		change(&s)
		if _, err := model.New(newEngine(t), s, 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

func TestHeadNormalizationsStandBeforeTheLinearLayer(t *testing.T) {
	for norm, params := range map[model.HeadNorm]int{model.HeadNormNone: 2, model.HeadNormBatch: 6, model.HeadNormLayer: 4} {
		s := small(t)
		s.HeadNorm = norm
		m := newModel(t, s, 1)
		n := 0
		for _, p := range m.Params.All() {
			if p.Group == layers.Head {
				n++
			}
		}
		if n != params {
			t.Errorf("%s: the head has %d parameters, want %d", norm, n, params)
		}
		x := images(2, 16)
		a, b := embed(t, m, 2, x), embed(t, m, 1, x)
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > 1e-5 || math.IsNaN(float64(a[i])) {
				t.Fatalf("%s: number %d is %v in a batch, %v alone", norm, i, a[i], b[i])
			}
		}
	}
}
