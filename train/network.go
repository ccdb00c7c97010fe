package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
)

// network is the graph of one training step.
type network struct {
	g         *layers.Graph
	images    *layers.Node // (B, 3, S, S), or a frozen block's outputs
	embedding *layers.Node // (B, h)
	loss      *losses.Node
}

// objective is what a network is trained for.
type objective struct {
	loss    losses.Loss
	terms   []losses.Term
	memory  losses.MemoryOptions
	classes int
	seed    uint64
}

func (c Config) objective(classes int) (o objective, err error) {
	o = objective{memory: losses.MemoryOptions{Size: c.Loss.Memory, Start: c.Loss.MemoryStart}, classes: classes, seed: c.Seed}
	if o.loss, err = c.newLoss(classes); err != nil {
		return o, err
	}
	o.terms, err = c.newTerms(classes)
	return o, err
}

// buildNetwork compiles model, metric, loss and their gradients for a batch
// size. The loss's own parameters join the model's.
func buildNetwork(m *model.Model, o objective, batch int) (*network, error) {
	available := int64(math.MaxInt64)
	if free, err := mem.VirtualMemory(); err == nil {
		available = int64(free.Available)
	}
	// What is made while the graph is built, at the least: the batch, and the
	// matrix between its images with its gradient, on the host.
	one := 4.
	for _, n := range m.InputShape(1) {
		one *= float64(n)
	}
	if least := float64(batch) * (one + 16*float64(batch)); least > float64(available) {
		return nil, tooLarge(batch, fmt.Errorf("its pictures and distances alone need %.0f MiB, %d MiB are available", least/(1<<20), available>>20))
	}
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	n := &network{g: g, images: g.Input("images", m.InputShape(batch)...)}
	raw := m.Raw(g, n.images, true)
	n.embedding = m.Normalize(g, raw, true)
	var err error
	n.loss, err = losses.Op(g, o.loss, n.embedding, losses.OpOptions{
		Metric: m.Spec.Metric, Classes: o.classes, Seed: o.seed,
		Normalize: func(rows *layers.Node) *layers.Node { return m.NormalizeProxies(g, rows) },
		Memory:    o.memory, Terms: o.terms, Raw: raw, Weights: m.HeadWeights(g),
	})
	if err != nil {
		return nil, err
	}
	g.Keep(n.embedding)
	g.Backward(n.loss.Loss, nil)
	g.SetLimit(available)
	if err := g.Compile(); err != nil {
		if memory := new(layers.MemoryError); errors.As(err, &memory) {
			return nil, tooLarge(batch, err)
		}
		return nil, fmt.Errorf("training graph: %w", err)
	}
	return n, nil
}

// tooLarge says what to do about a batch that does not fit.
func tooLarge(batch int, err error) error {
	return fmt.Errorf("a batch of %d images: %w; lower --classes-per-batch, --images-per-class or --size", batch, err)
}
