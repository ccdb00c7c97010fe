package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// network is what one training step runs: a graph of the whole batch, or where
// that does not fit a graph of a micro-batch and one of the loss of the batch.
type network struct {
	g         *layers.Graph // ends in the loss
	images    *layers.Node  // (B, 3, S, S), or a frozen block's outputs
	inlets    []*inlet      // of images, or of a micro-batch's two graphs
	embedding *layers.Node  // (B, h)
	loss      *losses.Node
	micro     *microBatches // nil where one graph holds all
	numbers   int           // of a batch's images
	// progress, if not nil, is called with the number of images of a batch in parts that a
	// pass is through with.
	progress func(pass string, images int)
	observer engine.Observer // may be nil
}

// run computes the loss of a batch and all gradients. Where the loss is not finite
// gradients mean nothing.
func (n *network) run(b *data.Batch) (loss float64, err error) {
	return n.runBy(b, (*layers.Graph).Run)
}

// check runs a batch again and fails at the first node that is not finite.
func (n *network) check(b *data.Batch) error {
	_, err := n.runBy(b, (*layers.Graph).RunChecked)
	return err
}

func (n *network) runBy(b *data.Batch, run func(*layers.Graph) error) (loss float64, err error) {
	if err := n.take(b); err != nil {
		return 0, err
	}
	if n.micro != nil {
		return n.micro.run(n, b, run)
	}
	if err := run(n.g); err != nil {
		return 0, err
	}
	return n.g.Scalar(n.loss.Loss)
}

// take copies the images of a batch into the graph; micro-batches take theirs as they
// come.
func (n *network) take(b *data.Batch) error {
	if have := len(b.Images) + len(b.Pixels); have != n.numbers {
		return fmt.Errorf("a batch of %d numbers or bytes, want %d", have, n.numbers)
	}
	if n.micro != nil {
		// Every rank has the loss of the whole batch, from its first image on.
		return n.inlets[0].draw(n.g, b, 0)
	}
	return n.inlets[0].give(b, 0)
}

// late reports whether the host can wait for a loss until the next step is under way:
// the engine evaluates it, brings it to the host on its own, and moves no parameter
// where it is not finite.
func (n *network) late() bool {
	_, later := n.g.Engine().(engine.Later)
	_, clips := n.g.Engine().(engine.Clipper)
	return later && clips && n.micro == nil && n.loss.OnEngine()
}

// runAhead is run for a device, which works while the host continues: the batch that
// ahead waits for is sent to it meanwhile, before the host waits for what it computes
// the loss from, or where the device computes that for the loss itself. The loss that
// it returns waits for the device, see late.
func (n *network) runAhead(b *data.Batch, ahead func() *data.Batch) (loss func() (float64, error), err error) {
	send := sync.OnceValue(func() error { return n.send(ahead) })
	if !n.late() {
		if n.micro == nil {
			n.g.BeforeHost(send)
			defer n.g.BeforeHost(nil)
		}
		v, err := n.run(b)
		if err != nil {
			return nil, err
		}
		return func() (float64, error) { return v, nil }, send()
	}
	if err := n.take(b); err != nil {
		return nil, err
	}
	if err := n.g.Run(); err != nil {
		return nil, err
	}
	if loss, err = n.g.Engine().(engine.Later).ReadLater(n.g.Value(n.loss.Loss)); err != nil {
		return nil, err
	}
	return loss, send()
}

// send starts the way of the batch to come, if the engine takes bytes.
func (n *network) send(ahead func() *data.Batch) error {
	if ahead == nil || n.inlets[0].feed == nil {
		return nil
	}
	next := ahead()
	if next == nil {
		return nil
	}
	return n.inlets[0].send(next, n.inlets[0].first)
}

func (n *network) tell(pass string, images int) {
	if n.progress != nil {
		n.progress(pass, images)
	}
}

// takePixels makes the network take batches of pixels instead of numbers.
func (n *network) takePixels(f engine.Feeder, norm transform.Normalization) error {
	for _, in := range n.inlets {
		if err := in.takePixels(f, norm); err != nil {
			return err
		}
	}
	return nil
}

// ParamGrad implements Gradients.
func (n *network) ParamGrad(p *layers.Param) engine.Tensor {
	if n.micro != nil {
		if sum, ok := n.micro.sums[p.Name]; ok {
			return sum
		}
	}
	return n.g.ParamGrad(p)
}

// bytes is the memory of activations and gradients.
func (n *network) bytes() int64 {
	b := n.g.Bytes()
	if n.micro != nil {
		b += n.micro.bytes()
	}
	return b
}

func (n *network) close() {
	for _, in := range n.inlets {
		in.close()
	}
	n.g.Close()
	if n.micro != nil {
		n.micro.close()
	}
}

// objective is what a network is trained for.
type objective struct {
	loss    losses.Loss
	terms   []losses.Term
	memory  losses.MemoryOptions
	classes int
	seed    uint64
	parts   losses.Parts
	// momentum says that a copy of the network makes what embeddings are compared with.
	momentum bool
}

func objectiveOf(c run.Config, classes int) (o objective, err error) {
	o = objective{memory: losses.MemoryOptions{Size: c.Loss.Memory, Start: c.Loss.MemoryStart}, classes: classes, seed: c.Seed, momentum: c.MomentumEncoder > 0}
	if o.loss, err = c.NewLoss(classes); err != nil {
		return o, err
	}
	o.terms, err = c.NewTerms(classes)
	return o, err
}

// onFeatures reports whether a term looks at the features that the head is given.
func (o objective) onFeatures() bool { return slices.ContainsFunc(o.terms, losses.Term.OnFeatures) }

// fits refuses a memory of earlier batches, or rows of classes, that cannot fit into
// the bytes available, before they are made.
func (o objective) fits(dim, batch int, available int64) error {
	// Rows and the matrix between batch and memory, which the graph holds with its
	// gradient, beside what the loss takes.
	b, m, d := float64(batch), float64(o.memory.Size), float64(dim)
	if need := 4*m*d + 8*b*m + float64(o.memory.Bytes(batch, dim)); need > float64(available) {
		return run.AtSetting("loss", fmt.Errorf("a memory of %d embeddings of %d numbers needs %.0f MiB beside batches of %d, %d MiB are available", o.memory.Size, dim, need/(1<<20), batch, available>>20))
	}
	if o.loss.Columns() != losses.Classes {
		return nil
	}
	rows := float64(o.classes * losses.PerClass(o.loss))
	// Each with its gradient; the matrix to the batch with its own, on the host too.
	if need := 8*rows*d + 24*b*rows; need > float64(available) {
		return run.AtSetting("loss", fmt.Errorf("%.0f rows of classes of %d numbers need %.0f MiB beside batches of %d, %d MiB are available", rows, dim, need/(1<<20), batch, available>>20))
	}
	return nil
}

// buildNetwork compiles model, metric, loss and their gradients for a batch
// size, in one graph or, with micro above 0 and below that size, in parts of micro
// images. The loss's own parameters join the model's.
func buildNetwork(m *model.Model, o objective, batch, micro int) (*network, error) {
	available := int64(math.MaxInt64)
	if d, ok := m.Params.Engine().(engine.Device); ok {
		free, _, err := d.Memory()
		if err != nil {
			return nil, err
		}
		available = free
	} else if free, err := mem.VirtualMemory(); err == nil {
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
	if err := o.fits(m.Spec.ComparedDim(), batch, available); err != nil {
		return nil, err
	}
	if micro > 0 && micro < batch {
		return buildMicroBatches(m, o, batch, micro, available)
	}
	n := &network{g: layers.NewGraph(m.Params.Engine(), m.Params)}
	n.images = n.g.Input("images", m.InputShape(batch)...)
	raw, features := m.RawAndFeatures(n.g, n.images, true)
	if err := n.end(m, o, raw, features, o.keys(m, n.g, n.images)); err != nil {
		return nil, err
	}
	if err := compile(n.g, available, batch); err != nil {
		return nil, err
	}
	n.inlets, n.numbers = []*inlet{newInlet(n.g, n.images, o.seed)}, n.images.Shape().TotalSize()
	return n, nil
}

// end adds what follows on raw embeddings (B, h), on the features (B, C) that they are made
// of, which may be nil where no term looks at them, and on embeddings of the momentum
// encoder, nil for none; and the way back.
func (n *network) end(m *model.Model, o objective, raw, features, keys *layers.Node) error {
	g := n.g
	n.embedding = m.Normalize(g, raw, true)
	compared, rows := n.embedding, m.Compared()
	if m.Spec.Projection != "" {
		raw = m.Project(g, raw)
		compared = rows.Normalize(g, raw, true)
	}
	if keys != nil {
		keys = normalizedKeys(m, g, keys)
	}
	var weights *layers.Node
	for _, t := range o.terms {
		if t.OnWeights() {
			weights = m.HeadWeights(g)
		}
	}
	by := m.Spec.Metric
	var levels *losses.Levels
	if m.HasLevels() {
		by = metric.Metric{Kind: metric.SquaredEuclidean} // of each level
		l := m.Spec.Levels
		levels = &losses.Levels{N: len(strings.Split(l.Blocks, ",")), Keep: l.Keep, Gamma: l.Gamma}
		levels.Links, levels.A, levels.B = m.LinkNodes(g)
	}
	var err error
	n.loss, err = losses.Op(g, o.loss, compared, losses.OpOptions{
		Metric: by, Levels: levels, Classes: o.classes, Seed: o.seed,
		Normalize: func(x *layers.Node) *layers.Node { return rows.NormalizeProxies(g, x) },
		LogScale:  m.LogScale(g),
		Memory:    o.memory, Keys: keys, Terms: o.terms, Raw: raw, Features: features, Weights: weights, Parts: o.parts,
	})
	if err != nil {
		return err
	}
	g.Keep(n.embedding)
	g.Backward(n.loss.Loss, nil)
	return nil
}

// compile readies a graph, if its buffers fit.
func compile(g *layers.Graph, available int64, batch int) error {
	g.SetLimit(available)
	if err := g.Compile(); err != nil {
		if memory := new(layers.MemoryError); errors.As(err, &memory) {
			return tooLarge(batch, err)
		}
		return fmt.Errorf("training graph: %w", err)
	}
	return nil
}

// tooLarge says what to do about a batch that does not fit.
func tooLarge(batch int, err error) error {
	return setting.Errorf("a batch of %d images: %w; compute blocks twice instead of keeping them with %s (the same result), embed it in parts with %s (the same gradient in two passes), or lower %s, %s or %s", batch, err,
		setting.Name("run.recompute"), setting.Name("micro_batch"), setting.Name("classes_per_batch"), setting.Name("images_per_class"), setting.Name("model.input.size"))
}
