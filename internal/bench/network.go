package bench

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
)

const (
	imageSide = 224
	embedding = 512
)

// network is a backbone as it is usually fine-tuned: images of 224 pixels,
// embeddings of 512 numbers at unit length, batch normalization frozen, AdamW.
// The loss is the mean square of the cosines of a batch, which costs nothing.
type network struct{ name, backbone, text string }

func networks() []network {
	return []network{
		{"bninception", "bninception", "BN-Inception"},
		{"resnet18", "resnet18", "ResNet-18"},
		{"resnet50", "resnet50", "ResNet-50"},
		{"efficientnetlite0", "efficientnetlite0", "EfficientNet-Lite0"},
		{"convnexttiny", "convnexttiny", "ConvNeXt-T"},
		{"vit-s", "vits16", "ViT-S/16"},
		{"vit-b", "vitb16", "ViT-B/16"},
		{"dinov2-s", "dinov2s14", "DINOv2-S/14"},
	}
}

func (n network) training() Benchmark {
	return Benchmark{Name: n.name + "-train", Text: n.text + ": a training step with AdamW, batch normalization, if any, frozen", Batch: 16, Traced: true,
		Cases: []Case{{start: n.train}}}
}

func (n network) inference() Benchmark {
	return Benchmark{Name: n.name + "-infer", Text: n.text + ": images to embeddings", Batch: 16, Traced: true, Cases: []Case{{start: n.infer}}}
}

// model returns the network with drawn weights.
func (n network) model(eng engine.Engine) (*model.Model, error) {
	net, err := backbone.New(n.backbone)
	if err != nil {
		return nil, err
	}
	spec := model.Spec{
		Backbone: n.backbone, Input: net.Preprocessing().WithSize(imageSide), Pool: model.DefaultPool(net),
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: embedding,
		Normalization: model.NormRows, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine},
	}
	m, err := model.New(eng, spec, 1)
	if err != nil || net.Tokens() {
		return m, err
	}
	return m, m.Freeze(model.Freeze{BNStats: true, BNAffine: true}, false)
}

// compile makes the graph of images, with drawn ones in it.
func compile(g *layers.Graph, eng engine.Engine, images *layers.Node) error {
	if err := g.Compile(); err != nil {
		return err
	}
	d := draw(eng)
	pixels := d.tensor(images.Shape()...)
	if d.err != nil {
		return d.err
	}
	return eng.Copy(g.Value(images), pixels)
}

func (n network) train(_ context.Context, eng engine.Engine, batch int) (*work, error) {
	m, err := n.model(eng)
	if err != nil {
		return nil, err
	}
	g := layers.NewGraph(eng, m.Params)
	images := g.Input("images", m.InputShape(batch)...)
	e := m.Forward(g, images, true)
	loss := g.HostLoss("mean square of cosines", meanSquare, g.Pairwise("cosines", e, e, metric.Metric{Kind: metric.Dot}))
	g.Backward(loss, nil)
	if err := compile(g, eng, images); err != nil {
		return nil, err
	}
	opt, err := optimizer(m, g)
	if err != nil {
		return nil, err
	}
	forward, stem, err := n.products(eng, m)
	if err != nil {
		return nil, err
	}
	return &work{
		images: batch, planned: g.Bytes(), close: g.Close,
		// Nothing needs the gradient of the images.
		flops: float64(batch) * (3*forward - stem),
		run:   inTurn(g.Run, move(opt)),
		observe: func(o engine.Observer) {
			g.Observe(o)
			opt.Observe(o)
		},
	}, nil
}

// optimizer is what training benchmarks have.
func optimizer(m *model.Model, g *layers.Graph) (*optim.Optimizer, error) {
	settings := optim.Default()
	settings.Rate = 1e-4
	return optim.New(settings, m.Params, g)
}

// move is a step of an optimizer.
func move(opt *optim.Optimizer) func() error {
	return func() error {
		_, err := opt.Step(1)
		return err
	}
}

// meanSquare is a loss on a matrix of cosines.
func meanSquare(values, grads [][]float64) (float64, error) {
	sum, n := 0., float64(len(values[0]))
	for i, v := range values[0] {
		sum += v * v
		grads[0][i] = 2 * v / n
	}
	return sum / n, nil
}

func (n network) infer(_ context.Context, eng engine.Engine, batch int) (*work, error) {
	m, err := n.model(eng)
	if err != nil {
		return nil, err
	}
	g := layers.NewGraph(eng, m.Params)
	images := g.Input("images", m.InputShape(batch)...)
	e := m.Forward(g, images, false)
	if err := compile(g, eng, images); err != nil {
		return nil, err
	}
	forward, _, err := n.products(eng, m)
	if err != nil {
		return nil, err
	}
	host := make([]float32, batch*embedding)
	var seen watched
	return &work{
		images: batch, planned: g.Bytes(), close: g.Close, flops: float64(batch) * forward,
		run: inTurn(g.Run, seen.as("embeddings to the host", "download", engine.PhaseData, func() error { return eng.Read(host, g.Value(e)) })),
		observe: func(o engine.Observer) {
			g.Observe(o)
			seen.by = o
		},
	}, nil
}

// products counts the operations of one image's products: of all layers, and of
// the first, which reads the image.
func (n network) products(eng engine.Engine, m *model.Model) (all, first float64, err error) {
	g := layers.NewGraph(eng, m.Params)
	g.Unfused()
	images := g.Input("images", m.InputShape(1)...)
	steps, err := g.Steps(m.Forward(g, images, false))
	if err != nil {
		return 0, 0, err
	}
	for _, s := range steps {
		f := flops(s)
		all += f
		if len(s.In) > 0 && s.In[0] == images {
			first += f
		}
	}
	if all == 0 {
		return 0, 0, fmt.Errorf("%s has no products", n.backbone)
	}
	return all, first, nil
}

// flops counts the multiplications and additions of a layer's products.
func flops(s layers.Step) float64 {
	size := func(n *layers.Node) float64 { return float64(n.Shape().TotalSize()) }
	switch s.Kind {
	case layers.KindConv: // every output is a sum over a row of the weights
		return 2 * size(s.Out) * size(s.In[1]) / float64(s.Out.Shape()[1])
	case layers.KindLinear:
		w := s.In[1].Shape()
		return 2 * size(s.Out) * float64(w[1])
	case layers.KindAttention: // scores, and the weighted sums
		shape := s.Out.Shape() // (B, T, D)
		return 4 * size(s.Out) * float64(shape[1])
	default:
		return 0
	}
}
