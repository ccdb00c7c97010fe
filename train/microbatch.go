package train

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/finite"
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
//
// Of several ranks each embeds a share of the parts. The embeddings are gathered, every
// rank computes the loss of the whole batch, and takes its own parts back. A rank with a
// single part takes it in one pass, unless there is a momentum encoder or a term looks at
// features.
type microBatches struct {
	size, batch, dim int           // images in a part and in the batch, numbers of an embedding
	forth, back      *layers.Graph // forth is nil in one pass
	once             *onePass      // nil for two passes
	forthImages, raw *layers.Node  // (size, 3, S, S), (size, h)
	backImages, seed *layers.Node  // (size, 3, S, S), (size, h)
	rows             *layers.Node  // (B, h), input of the loss
	keys, rawKeys    *layers.Node  // (B, h), (size, h), of the momentum encoder; nil for none
	// features (B, C) are an input of the loss, and rawFeatures (size, C) what the first pass
	// makes of a part; nil where no term looks at them. The gradient of a part is then of
	// embeddings and features side by side.
	features, rawFeatures *layers.Node
	width                 int // C; 0 for none

	params []*layers.Param // that get a gradient from back
	// partial are sums of gradients of some parts, in the order of params, as
	// comm.Merges says; the first is that of all in the end. sums are its tensors by name.
	partial [][]engine.Tensor
	sums    map[string]engine.Tensor
	running runningStatistics // that the passes move

	embeddings, grads, rest []float32
	keyRows                 []float32 // (B, h)
	featureRows             []float32 // (B, C)
	featureGrads            []float32 // (B, C)

	ranks      comm.Comm
	first, end int       // the images of the batch that this rank embeds
	host       []float32 // a sum on its way to the other ranks
}

// buildMicroBatches compiles the graphs.
func buildMicroBatches(m *model.Model, o objective, batch, size int, available int64) (_ *network, err error) {
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
	u := &microBatches{size: size, batch: batch, dim: m.Spec.Dim, sums: map[string]engine.Tensor{}, ranks: comm.OrSingle(o.parts.Comm)}
	u.first, u.end = comm.Share(batch, u.ranks.Rank(), u.ranks.Size())
	if u.ranks.Size() > 1 && u.end-u.first == size && !o.momentum && !o.onFeatures() {
		u.once = &onePass{u: u}
	}
	n := &network{g: layers.NewGraph(eng, m.Params), micro: u}
	u.rows = n.g.Input("embeddings", batch, m.Spec.Dim)
	n.g.NeedGrad(u.rows)
	o.parts.Size = size
	if o.momentum {
		u.keys, u.keyRows = n.g.Input("keys", batch, m.Spec.Dim), make([]float32, batch*m.Spec.Dim)
	}
	if u.once == nil {
		u.forth = layers.NewGraph(eng, m.Params)
		u.forthImages = u.forth.Input("images", m.InputShape(size)...)
		raw, features := m.RawAndFeatures(u.forth, u.forthImages, true)
		u.raw = raw
		if features != nil && o.onFeatures() {
			u.rawFeatures, u.width = features, features.Shape()[1]
			u.features = n.g.Input("features", batch, u.width)
			n.g.NeedGrad(u.features)
			u.featureRows, u.featureGrads = make([]float32, batch*u.width), make([]float32, batch*u.width)
		}
	}
	if err := n.end(m, o, u.rows, u.features, u.keys); err != nil {
		return nil, err
	}
	if err := compile(n.g, available, batch); err != nil {
		return nil, err
	}
	if u.once == nil {
		u.rawKeys = o.keys(m, u.forth, u.forthImages)
		for _, also := range []*layers.Node{u.rawFeatures, u.rawKeys} {
			if also != nil { // they are read behind what follows on them
				u.forth.Keep(u.raw)
				u.forth.Keep(also)
			}
		}
		if err := compile(u.forth, available-n.g.Bytes(), size); err != nil {
			return nil, err
		}
		available -= u.forth.Bytes()
		n.inlets = append(n.inlets, newInlet(u.forth, u.forthImages, o.seed))
	}
	u.back = layers.NewGraph(eng, m.Params)
	u.backImages = u.back.Input("images", m.InputShape(size)...)
	out, features := m.RawAndFeatures(u.back, u.backImages, true)
	if u.features != nil {
		out = u.back.Concat("embeddings and features", out, features)
	}
	if u.once == nil {
		u.seed = u.back.Input("gradient of the embeddings", size, u.dim+u.width)
	} else {
		u.seed = u.back.HostOp("gradient of the embeddings", u.once, out)
	}
	u.back.Backward(out, u.seed)
	if err := compile(u.back, available-n.g.Bytes(), size); err != nil {
		return nil, err
	}
	n.inlets = append(n.inlets, newInlet(u.back, u.backImages, o.seed))
	for _, in := range n.inlets {
		in.first = u.first
	}
	n.images = u.backImages
	n.numbers = u.backImages.Shape().TotalSize() / size * (u.end - u.first)
	u.embeddings, u.grads = make([]float32, batch*u.dim), make([]float32, batch*(u.dim+u.width))
	if u.running, err = newRunningStatistics(u.back); err != nil {
		return nil, err
	}
	return n, u.tensors(m)
}

// tensors makes the sums of gradients.
func (u *microBatches) tensors(m *model.Model) error {
	eng := m.Params.Engine()
	for _, p := range m.Params.All() {
		if u.back.ParamGrad(p) == nil {
			continue
		}
		u.params = append(u.params, p)
	}
	if u.once != nil { // the gradients of the one part are the sums
		u.partial = make([][]engine.Tensor, 1)
		for _, p := range u.params {
			u.sums[p.Name] = u.back.ParamGrad(p)
			u.partial[0] = append(u.partial[0], u.sums[p.Name])
		}
		return nil
	}
	u.partial = make([][]engine.Tensor, comm.Depth(u.parts()))
	for level := range u.partial {
		for _, p := range u.params {
			t, err := eng.New(p.Value.Shape()...)
			if err != nil {
				return fmt.Errorf("gradient of %q: %w", p.Name, err)
			}
			u.partial[level] = append(u.partial[level], t)
			if level == 0 {
				u.sums[p.Name] = t
			}
		}
	}
	return nil
}

// parts is the number of those that this rank takes.
func (u *microBatches) parts() int { return (u.end - u.first + u.size - 1) / u.size }

// run takes a batch through both passes and the loss between them.
func (u *microBatches) run(n *network, b *data.Batch, run func(*layers.Graph) error) (loss float64, err error) {
	if u.once != nil {
		return u.once.step(n, b, run)
	}
	if err := u.embed(n, b, run); err != nil {
		return 0, err
	}
	if loss, err = u.evaluate(n, run); err != nil || !finite.Is(loss) {
		return loss, err
	}
	return loss, u.backward(n, b, run)
}

// evaluate computes the loss of the gathered embeddings, and unless it is not finite its
// gradient.
func (u *microBatches) evaluate(n *network, run func(*layers.Graph) error) (loss float64, err error) {
	eng := n.g.Engine()
	if err := eng.Write(n.g.Value(u.rows), u.embeddings); err != nil {
		return 0, err
	}
	if u.keys != nil {
		if err := eng.Write(n.g.Value(u.keys), u.keyRows); err != nil {
			return 0, err
		}
	}
	if u.features != nil {
		if err := eng.Write(n.g.Value(u.features), u.featureRows); err != nil {
			return 0, err
		}
	}
	if err := run(n.g); err != nil {
		return 0, err
	}
	loss, err = n.g.Scalar(n.loss.Loss)
	if err != nil || !finite.Is(loss) {
		return loss, err
	}
	return loss, u.readGrads(n)
}

// readGrads reads the gradient of the embeddings, and with features theirs beside it.
func (u *microBatches) readGrads(n *network) error {
	eng, d, c := n.g.Engine(), u.dim, u.width
	if err := eng.Read(u.grads[:u.batch*d], n.g.Value(n.g.GradOf(u.rows))); err != nil || c == 0 {
		return err
	}
	if err := eng.Read(u.featureGrads, n.g.Value(n.g.GradOf(u.features))); err != nil {
		return err
	}
	for i := u.batch - 1; i >= 0; i-- { // from the end: rows move up
		row := u.grads[i*(d+c) : (i+1)*(d+c)]
		copy(row, u.grads[i*d:(i+1)*d])
		copy(row[d:], u.featureGrads[i*c:(i+1)*c])
	}
	return nil
}

// embed is the first pass.
func (u *microBatches) embed(n *network, b *data.Batch, run func(*layers.Graph) error) error {
	eng := n.g.Engine()
	if err := u.running.keep(eng); err != nil {
		return err
	}
	out, part := make([]float32, u.size*u.dim), make([]float32, u.size*u.width)
	for from := u.first; from < u.end; from += u.size {
		rows := min(u.size, u.end-from)
		if err := n.inlets[0].give(b, from); err != nil {
			return err
		}
		if err := run(u.forth); err != nil {
			return err
		}
		if next := from + u.size; next < u.end {
			if err := n.inlets[0].send(b, next); err != nil {
				return err
			}
		}
		if err := engine.Observe(n.observer, &embedding, func() error { return eng.Read(out, u.forth.Value(u.raw)) }); err != nil {
			return err
		}
		copy(u.embeddings[from*u.dim:], out[:rows*u.dim])
		if u.keys != nil {
			if err := engine.Observe(n.observer, &embedding, func() error { return eng.Read(out, u.forth.Value(u.rawKeys)) }); err != nil {
				return err
			}
			copy(u.keyRows[from*u.dim:], out[:rows*u.dim])
		}
		if u.features != nil {
			if err := engine.Observe(n.observer, &embedding, func() error { return eng.Read(part, u.forth.Value(u.rawFeatures)) }); err != nil {
				return err
			}
			copy(u.featureRows[from*u.width:], part[:rows*u.width])
		}
		n.tell("first pass", from+rows)
	}
	if err := u.running.restore(eng); err != nil {
		return err
	}
	return u.gather(n)
}

// gather makes the embeddings those of all ranks.
func (u *microBatches) gather(n *network) error {
	if u.ranks.Size() == 1 {
		return nil
	}
	return engine.Observe(n.observer, &gathering, func() error {
		for _, rows := range [][]float32{u.embeddings, u.keyRows, u.featureRows} {
			if rows == nil {
				continue
			}
			width := len(rows) / u.batch
			if err := u.ranks.GatherRows(rows, rows[u.first*width:u.end*width]); err != nil {
				return err
			}
		}
		return nil
	})
}

// backward is the second pass. Gradients of parts are added in the order of comm.Tree, so
// that the sum does not depend on how many ranks hold the parts.
func (u *microBatches) backward(n *network, b *data.Batch, run func(*layers.Graph) error) error {
	if len(u.params) == 0 {
		return nil // everything but the loss's own parameters is frozen
	}
	eng, top, parts := n.g.Engine(), 0, u.parts()
	for part := range parts {
		from := u.first + part*u.size
		if err := n.inlets[1].give(b, from); err != nil {
			return err
		}
		err := engine.Observe(n.observer, &seeding, func() error {
			return eng.Write(u.back.Value(u.seed), padded(&u.rest, u.grads, from*(u.dim+u.width), u.size*(u.dim+u.width)))
		})
		if err != nil {
			return err
		}
		if err := u.running.before(eng); err != nil {
			return err
		}
		if err := run(u.back); err != nil {
			return err
		}
		if err := u.running.after(eng); err != nil {
			return err
		}
		merges := comm.Merges(part, parts)
		if err := engine.Observe(n.observer, &summing, func() error { return u.push(eng, top, merges) }); err != nil {
			return err
		}
		top += 1 - merges
		n.tell("second pass", min(from+u.size, u.end))
	}
	return u.finish(n)
}

// finish makes what the parts of this rank have left those of all.
func (u *microBatches) finish(n *network) error {
	if len(u.params) == 0 {
		return nil
	}
	eng := n.g.Engine()
	if err := u.running.move(eng, u.ranks); err != nil {
		return err
	}
	if err := u.sumRanks(n); err != nil {
		return err
	}
	for i, p := range u.params {
		if own := n.g.ParamGrad(p); own != nil { // of a term on the head's weights, whole on every rank
			if err := eng.Add(u.partial[0][i], u.partial[0][i], own); err != nil {
				return err
			}
		}
	}
	return nil
}

// push puts the gradients of a part onto the stack of sums, which holds top of them, and
// merges.
func (u *microBatches) push(eng engine.Engine, top, merges int) error {
	for i, p := range u.params {
		if err := eng.Copy(u.partial[top][i], u.back.ParamGrad(p)); err != nil {
			return err
		}
		for k := range merges {
			below := u.partial[top-k-1][i]
			if err := eng.Add(below, below, u.partial[top-k][i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// sumRanks adds the gradients of all ranks, on devices that have joined (see Connect) or on
// the host.
func (u *microBatches) sumRanks(n *network) error {
	if u.ranks.Size() == 1 {
		return nil
	}
	return engine.Observe(n.observer, &reducing, func() error {
		eng, at := n.g.Engine(), 0
		if d, ok := eng.(engine.Collective); ok && d.Joined() {
			// A device waits for others without end and names none: ranks come together first.
			if err := u.ranks.Barrier(); err != nil {
				return err
			}
			return d.SumRanks(u.partial[0])
		}
		if u.host == nil {
			for _, t := range u.partial[0] {
				at += t.Size()
			}
			u.host = make([]float32, at)
		}
		at = 0
		for _, t := range u.partial[0] {
			if err := eng.Read(u.host[at:at+t.Size()], t); err != nil {
				return err
			}
			at += t.Size()
		}
		if err := u.ranks.Sum(u.host); err != nil {
			return err
		}
		at = 0
		for _, t := range u.partial[0] {
			if err := eng.Write(t, u.host[at:at+t.Size()]); err != nil {
				return err
			}
			at += t.Size()
		}
		return nil
	})
}

// bytes is the memory of both graphs and of the sums of gradients.
func (u *microBatches) bytes() int64 {
	b := u.back.Bytes()
	if u.once != nil {
		return b
	}
	b += u.forth.Bytes()
	for _, sums := range u.partial {
		for _, t := range sums {
			b += 4 * int64(t.Size())
		}
	}
	return b
}

func (u *microBatches) close() {
	if u.forth != nil {
		u.forth.Close()
	}
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
