package layers

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/hash64"
)

// Role says what a parameter is to an optimizer and to a checkpoint.
type Role uint8

const (
	Weight Role = iota // of a convolution or linear layer
	Bias
	NormGain // gamma of a normalization
	NormBias // beta
	Proxy    // rows of classes of a loss, and what a model compares levels by
	Buffer   // running statistics: saved, never trained
	Scale    // logarithm of the scale of embeddings
	LowRank  // of LoRA: changes weights, and is added to them in a model's file
)

// Group says to which part of what is trained a parameter belongs. It is not in
// files: who builds a network says it again (Graph.In).
type Group uint8

const (
	Backbone Group = iota // what makes features of images
	Head                  // what makes an embedding of features
	Loss                  // numbers of a loss: class rows, learned numbers, statistics
	Training              // layers that only training needs, over features or embeddings
)

// String is backbone, head, loss or training.
func (gr Group) String() string {
	switch gr {
	case Head:
		return "head"
	case Loss:
		return "loss"
	case Training:
		return "training"
	}
	return "backbone"
}

// InModel reports whether parameters of the group are part of the model. Those that are not,
// of Loss and Training, are trained and kept in checkpoints like all others; but no model
// file, export or average of weights has them, weights from elsewhere do not fill them, and
// no setting freezes them.
func (gr Group) InModel() bool { return gr == Backbone || gr == Head }

// Param is a named tensor that outlives the graphs it is used in. Names are
// those of the field's checkpoints.
type Param struct {
	Name   string
	Role   Role
	Group  Group
	Value  engine.Tensor
	Frozen bool // takes no gradient
	// Depth is how many layers of the backbone end behind the parameter's own, that one
	// included: 0 for the head, 1 for the last block. It is not in files.
	Depth int
}

// Trainable reports whether an optimizer should move p.
func (p *Param) Trainable() bool { return p.Role != Buffer && !p.Frozen }

// Params is an ordered set of parameters on one engine. The order is that of
// creation.
type Params struct {
	eng  engine.Engine
	seed uint64
	list []*Param
	by   map[string]*Param
}

// NewParams returns an empty set. Initial values are a function of seed and
// the parameter's name alone.
func NewParams(eng engine.Engine, seed uint64) *Params {
	return &Params{eng: eng, seed: seed, by: map[string]*Param{}}
}

// All returns the parameters in order. The slice is the set's own.
func (ps *Params) All() []*Param { return ps.list }

// Get returns the parameter of that name, or nil.
func (ps *Params) Get(name string) *Param { return ps.by[name] }

// Engine returns the engine that holds the values.
func (ps *Params) Engine() engine.Engine { return ps.eng }

// Add makes a parameter with initial values, or returns the one of that name,
// which must have the same group, role and shape.
func (ps *Params) Add(name string, group Group, role Role, init Init, shape ...int) (*Param, error) {
	if ps.eng == nil {
		return nil, errors.New("the engine of the parameters is nil: NewParams wants one")
	}
	if p := ps.by[name]; p != nil {
		switch {
		case p.Group != group:
			return nil, fmt.Errorf("parameter %q belongs to the %v already and cannot be the %v's, too", name, p.Group, group)
		case !sameShape(p.Value.Shape(), shape) || p.Role != role:
			return nil, fmt.Errorf("parameter %q exists with shape %v, wanted %v", name, p.Value.Shape(), shape)
		}
		return p, nil
	}
	v, err := ps.eng.New(shape...)
	if err != nil {
		return nil, fmt.Errorf("parameter %q: %w", name, err)
	}
	if !isOutline(ps.eng) {
		host := make([]float32, v.Size())
		init(host, rand.New(rand.NewPCG(ps.seed, hash64.Text(name))))
		if err := ps.eng.Write(v, host); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	p := &Param{Name: name, Role: role, Group: group, Value: v}
	ps.list = append(ps.list, p)
	ps.by[name] = p
	return p, nil
}

// Init fills a parameter with its initial values.
type Init func(dst []float32, r *rand.Rand)

// Constant fills with one value.
func Constant(v float32) Init {
	return func(dst []float32, _ *rand.Rand) {
		for i := range dst {
			dst[i] = v
		}
	}
}

// Normal draws from a normal distribution of the given standard deviation.
func Normal(deviation float64) Init {
	return func(dst []float32, r *rand.Rand) {
		for i := range dst {
			dst[i] = float32(deviation * r.NormFloat64())
		}
	}
}

// Values starts from the given numbers.
func Values(v []float32) Init {
	return func(dst []float32, _ *rand.Rand) { copy(dst, v) }
}

// HeNormal draws from a normal distribution of variance 2/fan (He et al. 2015,
// Eq. 10 with fan = fan-in, Eq. 14 with fan-out).
func HeNormal(fan int) Init {
	return func(dst []float32, r *rand.Rand) {
		std := math.Sqrt(2 / float64(fan))
		for i := range dst {
			dst[i] = float32(std * r.NormFloat64())
		}
	}
}

// UniformFanIn draws uniformly within 1/sqrt(fan), as PyTorch's linear layers and LoRA's
// authors do.
func UniformFanIn(fan int) Init {
	return func(dst []float32, r *rand.Rand) {
		bound := 1 / math.Sqrt(float64(fan))
		for i := range dst {
			dst[i] = float32(bound * (2*r.Float64() - 1))
		}
	}
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// In makes parameters that are added from now on belong to a group, until the
// function that it returns is called:
//
//	defer g.In(layers.Head)()
//
// A new graph adds them to Backbone.
func (g *Graph) In(group Group) (restore func()) {
	before := g.group
	g.group = group
	return func() { g.group = before }
}

// Copy makes what is added from now on a copy of a network with numbers of its own, until the
// function that it returns is called. Its parameters have prefix before their names, are of the
// group Training and buffers, so that no gradient reaches them, and normalizations leave their
// running statistics as they are.
func (g *Graph) Copy(prefix string) (restore func()) {
	before := g.copied
	g.copied = prefix
	return func() { g.copied = before }
}

// Param puts the named parameter into the graph, making it if it is new.
func (g *Graph) Param(name string, role Role, init Init, shape ...int) *Node {
	if g.err != nil {
		return nil
	}
	group := g.group
	if g.copied != "" {
		name, group, role = g.copied+name, Training, Buffer
	}
	p, err := g.params.Add(name, group, role, init, shape...)
	if err != nil {
		return g.fail("parameter", err)
	}
	if n := g.used[name]; n != nil {
		return n
	}
	n := g.leaf(name, p.Value)
	g.used[name] = n
	g.needs[n] = p.Trainable()
	return n
}

// Uses reports whether a parameter is in the graph.
func (g *Graph) Uses(p *Param) bool { return g.used[p.Name] != nil }

// ParamGrad returns the tensor that holds the gradient of p after each Run, or
// nil if the graph computes none. It exists from Compile on.
func (g *Graph) ParamGrad(p *Param) engine.Tensor {
	n := g.used[p.Name]
	if n == nil || g.derivs[n] == nil {
		return nil
	}
	return g.Value(g.derivs[n])
}
