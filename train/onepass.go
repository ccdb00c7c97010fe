package train

import (
	"errors"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/layers"
)

// onePass is how a rank that holds one part of a batch trains it in one pass, for which two
// are needed otherwise: what the way forward has left is still there for the way back. It is
// an operation between the two, from the embeddings of the part to their gradient, for which
// ranks meet and compute the loss.
type onePass struct {
	u *microBatches

	// Of the step that runs.
	net  *network
	run  func(*layers.Graph) error
	loss float64
	met  bool // whether the ranks have met
}

// errLossNotFinite ends a pass at the loss.
var errLossNotFinite = errors.New("the loss is not finite")

// Shape implements layers.HostOp: that of the embeddings (size, h).
func (*onePass) Shape(in ...[]int) ([]int, error) { return in[0], nil }

// Forward implements layers.HostOp.
func (p *onePass) Forward(y layers.Array, x ...layers.Array) error {
	u := p.u
	copy(u.embeddings[u.first*u.dim:], x[0].V)
	if err := u.gather(p.net); err != nil {
		return err
	}
	var err error
	if p.loss, err = u.evaluate(p.net, p.run); err != nil {
		return err
	}
	p.met = true
	if !finite.Is(p.loss) {
		return errLossNotFinite
	}
	copy(y.V, u.grads[u.first*u.dim:u.end*u.dim])
	return nil
}

// Backward implements layers.HostOp. Nobody asks for it.
func (*onePass) Backward([]layers.Array, layers.Array, layers.Array, ...layers.Array) error {
	return errors.New("a gradient of embeddings has no gradient")
}

// step takes a part forward and back.
func (p *onePass) step(n *network, b *data.Batch, run func(*layers.Graph) error) (loss float64, err error) {
	u, eng := p.u, n.g.Engine()
	p.net, p.run, p.met = n, run, false
	if err := u.running.keep(eng); err != nil {
		return 0, err
	}
	if err := n.inlets[0].give(b, u.first); err != nil {
		return 0, err
	}
	if err := u.running.before(eng); err != nil {
		return 0, err
	}
	err = run(u.back)
	if errors.Is(err, errLossNotFinite) {
		return p.loss, u.running.restore(eng)
	}
	if err == nil && !p.met {
		err = errors.New("the ranks have not met on the way back")
	}
	if err != nil {
		return 0, err
	}
	if err := u.running.after(eng); err != nil {
		return 0, err
	}
	n.tell("both passes", u.end)
	return p.loss, u.finish(n)
}
