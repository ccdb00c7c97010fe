package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// sopClasses are the training classes of Stanford Online Products.
const sopClasses = 11318

// withProxies is a training step as a run on Stanford Online Products takes it: the
// images of every step come from the host, on a device as bytes and ahead of their
// step, and the loss is proxy-anchor with a row for each of 11,318 classes.
func (n network) withProxies() Benchmark {
	b := Benchmark{Name: n.name + "-proxies-train", Batch: 16, Traced: true,
		Text: fmt.Sprintf("%s: a training step with its images on their way, proxy-anchor with %d classes", n.text, sopClasses)}
	for _, m := range []metric.Metric{{Kind: metric.Cosine}, {Kind: metric.BRM, P: 2}} {
		b.Cases = append(b.Cases, Case{Name: m.Kind.String(), start: func(_ context.Context, eng engine.Engine, batch int) (*work, error) {
			return n.trainProxies(eng, batch, m)
		}})
	}
	return b
}

func (n network) trainProxies(eng engine.Engine, batch int, metric metric.Metric) (*work, error) {
	m, err := n.model(eng)
	if err != nil {
		return nil, err
	}
	g := layers.NewGraph(eng, m.Params)
	images := g.Input("images", m.InputShape(batch)...)
	l, err := losses.New("proxy-anchor", losses.Options{Metric: metric, Scale: 1, Classes: sopClasses, Dim: embedding})
	if err != nil {
		return nil, err
	}
	loss, err := losses.Op(g, l, m.Forward(g, images, true), losses.OpOptions{
		Metric: metric, Classes: sopClasses, Seed: 1,
		Normalize: func(rows *layers.Node) *layers.Node { return m.NormalizeProxies(g, rows) },
	})
	if err != nil {
		return nil, err
	}
	g.Backward(loss.Loss, nil)
	if err := g.Compile(); err != nil {
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
	arrive, send, stop, err := upload(eng, g.Value(images))
	if err != nil {
		return nil, err
	}
	labels, rng := make([]int, batch), rand.New(rand.NewPCG(1, 2))
	var seen watched
	return &work{
		images: batch, planned: g.Bytes(), close: inTurn(stop, g.Close),
		flops: float64(batch) * (3*forward - stem + 6*sopClasses*embedding),
		run: inTurn(seen.as("images to the engine", "upload", engine.PhaseData, arrive), seen.as("labels", "labels", engine.PhaseLoss, func() error {
			for i := range labels {
				labels[i] = rng.IntN(sopClasses)
			}
			return loss.SetLabels(labels)
		}), g.Run, seen.as("the next images", "send", engine.PhaseData, send), seen.as("loss to the host", "download", engine.PhaseLoss, func() error {
			_, err := g.Scalar(loss.Loss)
			return err
		}), move(opt)),
		observe: func(o engine.Observer) {
			g.Observe(o)
			opt.Observe(o)
			seen.by = o
		},
	}, nil
}

// upload is the way of a batch of images to an input, as train has it: arrive before
// a step, send during it. An engine that takes no bytes is given numbers.
func upload(eng engine.Engine, to engine.Tensor) (arrive, send, stop func() error, err error) {
	rng := rand.New(rand.NewPCG(1, 3))
	nothing := func() error { return nil }
	f, ok := eng.(engine.Feeder)
	if !ok {
		numbers := make([]float32, to.Size())
		for i := range numbers {
			numbers[i] = rng.Float32()
		}
		return func() error { return eng.Write(to, numbers) }, nothing, nothing, nil
	}
	table := make([][256]float32, to.Shape()[1])
	for c := range table {
		for v := range table[c] {
			table[c][v] = float32(v) / 255
		}
	}
	feed, err := f.Feed(to, engine.ByteNumbers{Table: table})
	if err != nil {
		return nil, nil, nil, err
	}
	pixels := make([]uint8, to.Size())
	for i := range pixels {
		pixels[i] = uint8(rng.Uint32())
	}
	send = func() error { return feed.Send(pixels) }
	return feed.Arrive, send, feed.Close, send()
}
