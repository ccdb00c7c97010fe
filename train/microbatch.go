package train

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// microBatches embed a batch that does not fit in parts. A loss on pairs needs
// all embeddings of a batch at once, their network does not: a first pass makes
// the embeddings, the loss gives the gradient of each, and a second pass takes
// every part forth and back with its share of that gradient. The sum is the
// gradient of one large graph (Gao et al. 2021, Scaling deep contrastive
// learning batch size under memory limited setup), exactly so where an image's
// embedding does not depend on the others.
type microBatches struct {
	size, batch, dim int // images in a part and in the batch, numbers of an embedding
	forth, back      *layers.Graph
	forthImages, raw *layers.Node // (size, 3, S, S), (size, h)
	backImages, seed *layers.Node // (size, 3, S, S), (size, h)
	rows             *layers.Node // (B, h), input of the loss

	params []*layers.Param // that get a gradient from back
	sums   map[string]engine.Tensor
	// moved are running statistics, which the first pass must not move, and
	// kept their values before it.
	moved, kept []engine.Tensor

	embeddings, grads, rest []float32
}

// buildMicroBatches compiles the graphs.
func buildMicroBatches(m *model.Model, o objective, batch, size int, available int64) (*network, error) {
	stats := m.BatchStats()
	if len(stats) > 0 && batch%size != 0 {
		return nil, run.AtSetting("micro_batch", fmt.Errorf("micro-batches of %d images do not fill a batch of %d, which they must where normalizations (%s, ...) use the statistics of a part", size, batch, stats[0]))
	}
	if len(stats) > 0 && size == 1 {
		return nil, run.AtSetting("micro_batch", setting.Errorf("a micro-batch of one image has no statistics for its normalizations (%s, ...): take 2 images or more, or keep the running statistics with %s", stats[0], setting.Name("freeze.bn_stats")))
	}
	if m.Spec.Flow != "" {
		return nil, setting.Errorf("geometry flow layers mix the images of a batch, which micro-batches would take apart: leave out %s", setting.Name("micro_batch"))
	}
	eng := m.Params.Engine()
	u := &microBatches{size: size, batch: batch, dim: m.Spec.Dim, sums: map[string]engine.Tensor{}}
	n := &network{g: layers.NewGraph(eng, m.Params), micro: u}
	u.rows = n.g.Input("embeddings", batch, m.Spec.Dim)
	n.g.NeedGrad(u.rows)
	if err := n.end(m, o, u.rows); err != nil {
		return nil, err
	}
	if err := compile(n.g, available, batch); err != nil {
		return nil, err
	}
	u.forth = layers.NewGraph(eng, m.Params)
	u.forthImages = u.forth.Input("images", m.InputShape(size)...)
	u.raw = m.Raw(u.forth, u.forthImages, true)
	if err := compile(u.forth, available-n.g.Bytes(), size); err != nil {
		return nil, err
	}
	u.back = layers.NewGraph(eng, m.Params)
	u.backImages = u.back.Input("images", m.InputShape(size)...)
	out := m.Raw(u.back, u.backImages, true)
	u.seed = u.back.Input("gradient of the embeddings", size, m.Spec.Dim)
	u.back.Backward(out, u.seed)
	if err := compile(u.back, available-n.g.Bytes()-u.forth.Bytes(), size); err != nil {
		return nil, err
	}
	n.images = u.backImages
	n.numbers = u.backImages.Shape().TotalSize() / size * batch
	n.inlets = []*inlet{newInlet(u.forth, u.forthImages, o.seed), newInlet(u.back, u.backImages, o.seed)}
	u.embeddings, u.grads = make([]float32, batch*u.dim), make([]float32, batch*u.dim)
	return n, u.tensors(m, stats)
}

// tensors makes the sums of gradients, and room for running statistics.
func (u *microBatches) tensors(m *model.Model, stats []string) error {
	eng := m.Params.Engine()
	for _, p := range m.Params.All() {
		if u.back.ParamGrad(p) == nil {
			continue
		}
		t, err := eng.New(p.Value.Shape()...)
		if err != nil {
			return fmt.Errorf("gradient of %q: %w", p.Name, err)
		}
		u.params = append(u.params, p)
		u.sums[p.Name] = t
	}
	for _, norm := range stats {
		for _, name := range []string{norm + ".running_mean", norm + ".running_var"} {
			v := m.Params.Get(name).Value
			t, err := eng.New(v.Shape()...)
			if err != nil {
				return fmt.Errorf("copy of %q: %w", name, err)
			}
			u.moved, u.kept = append(u.moved, v), append(u.kept, t)
		}
	}
	return nil
}

// run takes a batch through both passes and the loss between them.
func (u *microBatches) run(n *network, b *data.Batch, run func(*layers.Graph) error) (loss float64, err error) {
	eng := n.g.Engine()
	if err := u.embed(n, b, run); err != nil {
		return 0, err
	}
	if err := eng.Write(n.g.Value(u.rows), u.embeddings); err != nil {
		return 0, err
	}
	if err := run(n.g); err != nil {
		return 0, err
	}
	loss, err = n.g.Scalar(n.loss.Loss)
	if err != nil || loss-loss != 0 {
		return loss, err
	}
	if err := eng.Read(u.grads, n.g.Value(n.g.GradOf(u.rows))); err != nil {
		return 0, err
	}
	return loss, u.backward(n, b, run)
}

// embed is the first pass.
func (u *microBatches) embed(n *network, b *data.Batch, run func(*layers.Graph) error) error {
	eng := n.g.Engine()
	for i, v := range u.moved {
		if err := eng.Copy(u.kept[i], v); err != nil {
			return err
		}
	}
	out := make([]float32, u.size*u.dim)
	for from := 0; from < u.batch; from += u.size {
		rows := min(u.size, u.batch-from)
		if err := n.inlets[0].give(b, from); err != nil {
			return err
		}
		if err := run(u.forth); err != nil {
			return err
		}
		if next := from + u.size; next < u.batch {
			if err := n.inlets[0].send(b, next); err != nil {
				return err
			}
		}
		if err := engine.Observe(n.observer, &embedding, func() error { return eng.Read(out, u.forth.Value(u.raw)) }); err != nil {
			return err
		}
		copy(u.embeddings[from*u.dim:], out[:rows*u.dim])
		n.tell("first pass", from+rows)
	}
	for i, v := range u.moved {
		if err := eng.Copy(v, u.kept[i]); err != nil {
			return err
		}
	}
	return nil
}

// backward is the second pass.
func (u *microBatches) backward(n *network, b *data.Batch, run func(*layers.Graph) error) error {
	eng := n.g.Engine()
	for _, p := range u.params {
		var err error
		if own := n.g.ParamGrad(p); own != nil { // of a term on the head's weights
			err = eng.Copy(u.sums[p.Name], own)
		} else {
			err = eng.Zero(u.sums[p.Name])
		}
		if err != nil {
			return err
		}
	}
	if len(u.params) == 0 {
		return nil // everything but the loss's own parameters is frozen
	}
	for from := 0; from < u.batch; from += u.size {
		if err := n.inlets[1].give(b, from); err != nil {
			return err
		}
		err := engine.Observe(n.observer, &seeding, func() error {
			return eng.Write(u.back.Value(u.seed), padded(&u.rest, u.grads, from*u.dim, u.size*u.dim))
		})
		if err != nil {
			return err
		}
		if err := run(u.back); err != nil {
			return err
		}
		if err := engine.Observe(n.observer, &summing, func() error { return u.add(eng) }); err != nil {
			return err
		}
		n.tell("second pass", min(from+u.size, u.batch))
	}
	return nil
}

// add adds the gradients of a part to the sums.
func (u *microBatches) add(eng engine.Engine) error {
	for _, p := range u.params {
		if err := eng.Add(u.sums[p.Name], u.sums[p.Name], u.back.ParamGrad(p)); err != nil {
			return err
		}
	}
	return nil
}

func (u *microBatches) bytes() int64 { return u.forth.Bytes() + u.back.Bytes() }

func (u *microBatches) close() {
	u.forth.Close()
	u.back.Close()
}

// warnMicroBatches says where micro-batches are not the same as one batch.
func (s *stepper) warnMicroBatches() {
	names := s.model.BatchStats()
	if s.net.micro == nil || len(names) == 0 {
		return
	}
	example := slices.Min(names)
	s.ev.Warn("%d normalizations (%s, ...) use the statistics of each micro-batch of %s, not of the batch of %d: gradients are those of the parts; %s makes them exact", len(names), example, plural.Of(s.net.micro.size, "image"), s.net.micro.batch, setting.Name("freeze.bn_stats"))
}
