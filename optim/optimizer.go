package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Settings choose an optimizer and its constants.
type Settings struct {
	Name     string  `json:"name"` // one of Names
	Rate     float64 `json:"rate"`
	Decay    float64 `json:"decay"`
	Momentum float64 `json:"momentum"` // sgd, rmsprop
	Nesterov bool    `json:"nesterov"` // sgd
	Beta1    float64 `json:"beta1"`    // adam, adamw, radam
	Beta2    float64 `json:"beta2"`    // adam, adamw, radam
	Alpha    float64 `json:"alpha"`    // rmsprop
	Eps      float64 `json:"eps"`      // all but sgd
	// LayerDecay multiplies Rate for each layer of the backbone that a parameter lies
	// before the head (layers.Param.Depth): the last block has Rate times LayerDecay, the
	// one before it that times LayerDecay again (Clark et al. 2020, ELECTRA). 1, or 0, for
	// none.
	LayerDecay float64 `json:"layer_decay"`
	// HeadRate and ProxyRate multiply Rate, HeadDecay and ProxyDecay multiply
	// Decay, for the embedding layer, with layers that only training needs
	// (layers.Training), and for the parameters of the loss and what a model with levels
	// compares these by.
	HeadRate  float64 `json:"head_rate"`
	ProxyRate float64 `json:"proxy_rate"`
	// ScaleRate multiplies Rate for the logarithm of a learned scale of embeddings,
	// which takes no Decay.
	ScaleRate  float64 `json:"scale_rate"`
	HeadDecay  float64 `json:"head_decay"`
	ProxyDecay float64 `json:"proxy_decay"`
	// DecayBias and DecayNorm apply Decay to biases, and to gamma and beta of
	// normalizations, too.
	DecayBias bool `json:"decay_bias"`
	DecayNorm bool `json:"decay_norm"`
	// ClipNorm limits the norm of the whole gradient, ClipValue each element;
	// 0 means no limit.
	ClipNorm  float64 `json:"clip_norm"`
	ClipValue float64 `json:"clip_value"`
}

// Names lists the values of Settings.Name.
func Names() []string { return []string{"sgd", "adam", "adamw", "radam", "rmsprop"} }

// Default is AdamW with the constants of PyTorch.
func Default() Settings {
	return Settings{Name: "adamw", Rate: 1e-3, Decay: 1e-4, Momentum: .9,
		Beta1: .9, Beta2: .999, Alpha: .99, Eps: 1e-8, LayerDecay: 1, HeadRate: 1, ProxyRate: 10, ScaleRate: 50, HeadDecay: 1, ProxyDecay: 1}
}

// Validate checks every setting and names the one at fault.
func (s Settings) Validate() error {
	if !slices.Contains(Names(), s.Name) {
		return fmt.Errorf("unknown optimizer %q (there is: %s)", s.Name, strings.Join(Names(), ", "))
	}
	for _, c := range []struct {
		name     string
		v        float64
		min, max float64
		open     bool // max is excluded
	}{
		{"rate", s.Rate, 0, math.MaxFloat32, false},
		{"decay", s.Decay, 0, 1, false},
		{"momentum", s.Momentum, 0, 1, true},
		{"beta1", s.Beta1, 0, 1, true},
		{"beta2", s.Beta2, 0, 1, true},
		{"alpha", s.Alpha, 0, 1, true},
		{"eps", s.Eps, 0, 1, false},
		{"layer decay", s.LayerDecay, 0, 1, false},
		{"head rate", s.HeadRate, 0, math.MaxFloat32, false},
		{"proxy rate", s.ProxyRate, 0, math.MaxFloat32, false},
		{"scale rate", s.ScaleRate, 0, math.MaxFloat32, false},
		{"head decay", s.HeadDecay, 0, math.MaxFloat32, false},
		{"proxy decay", s.ProxyDecay, 0, math.MaxFloat32, false},
		{"clip norm", s.ClipNorm, 0, math.MaxFloat32, false},
		{"clip value", s.ClipValue, 0, math.MaxFloat32, false},
	} {
		if !(c.v >= c.min && (c.v < c.max || c.v == c.max && !c.open)) {
			closing := "]"
			if c.open {
				closing = ")"
			}
			return fmt.Errorf("optimizer %s %v is not within [%v, %v%s", c.name, c.v, c.min, c.max, closing)
		}
	}
	if s.Nesterov && (s.Name != "sgd" || s.Momentum == 0) {
		return errors.New("optimizer nesterov is of sgd with momentum")
	}
	return nil
}

// NamesWith lists the optimizers that have a constant, by the constant's name in
// JSON, for the constants that not all optimizers have.
func NamesWith() map[string][]string {
	return map[string][]string{
		"momentum": {"sgd", "rmsprop"}, "beta1": {"adam", "adamw", "radam"}, "beta2": {"adam", "adamw", "radam"}, "alpha": {"rmsprop"}, "eps": {"adam", "adamw", "radam", "rmsprop"},
	}
}

// ErrNothingToTrain says that every parameter is frozen.
var ErrNothingToTrain = errors.New("there is nothing to train: every parameter is frozen")

// ErrNonFinite says that a gradient was NaN or infinite, so that nothing was
// moved.
var ErrNonFinite = errors.New("the gradient is not finite")

// Optimizer moves parameters along their gradients.
type Optimizer struct {
	settings Settings
	eng      engine.Engine
	names    []string // of the parameters, beside slots
	groups   []layers.Group
	factor   []float64
	slots    []engine.Slot
	since    []int // the step before a slot's first one
	grads    []engine.Tensor
	step     int

	observer         engine.Observer // may be nil
	clipping, moving *engine.Work    // what it is notified of
}

// Gradients know where the gradient of a parameter is after a step forth and
// back: a compiled layers.Graph, for one.
type Gradients interface {
	ParamGrad(p *layers.Param) engine.Tensor
}

// New returns an optimizer of the trainable parameters of ps.
func New(settings Settings, ps *layers.Params, g Gradients) (*Optimizer, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	o := &Optimizer{settings: settings, eng: ps.Engine()}
	for _, p := range ps.All() {
		if !p.Trainable() {
			continue
		}
		rate, decay := settings.of(p)
		slot := engine.Slot{Param: p.Value, Decay: float32(decay)}
		for i := 0; i < settings.states(); i++ {
			t, err := o.eng.New(p.Value.Shape()...)
			if err != nil {
				return nil, fmt.Errorf("optimizer state of %q: %w", p.Name, err)
			}
			slot.State[i] = t
		}
		o.names, o.groups = append(o.names, p.Name), append(o.groups, p.Group)
		o.factor = append(o.factor, rate)
		o.slots = append(o.slots, slot)
		o.since = append(o.since, 0)
	}
	if len(o.slots) == 0 {
		return nil, ErrNothingToTrain
	}
	return o, o.bind(ps, g)
}

// bind finds the gradient tensors.
func (o *Optimizer) bind(ps *layers.Params, g Gradients) error {
	o.grads = o.grads[:0]
	for i, name := range o.names {
		grad := g.ParamGrad(ps.Get(name))
		if grad == nil {
			return fmt.Errorf("optimizer: parameter %q takes part in no gradient", name)
		}
		o.slots[i].Grad = grad
		o.grads = append(o.grads, grad)
	}
	return nil
}

// states is the number of tensors an optimizer keeps for each parameter.
func (s Settings) states() int {
	n := 0
	switch s.Name {
	case "adam", "adamw", "radam":
		return 2
	case "rmsprop":
		n = 1
	}
	if s.Momentum > 0 {
		n++
	}
	return n
}

// of returns what a parameter's rate is multiplied by, and its decay.
func (s Settings) of(p *layers.Param) (rate, decay float64) {
	switch p.Role {
	case layers.Scale:
		return s.ScaleRate, 0
	case layers.Weight, layers.Proxy, layers.LowRank:
		decay = s.Decay
	case layers.Bias:
		if s.DecayBias {
			decay = s.Decay
		}
	case layers.NormGain, layers.NormBias:
		if s.DecayNorm {
			decay = s.Decay
		}
	}
	if p.Role == layers.Proxy { // of a model, too
		return s.ProxyRate, decay * s.ProxyDecay
	}
	switch p.Group {
	case layers.Loss:
		return s.ProxyRate, decay * s.ProxyDecay
	case layers.Head, layers.Training:
		return s.HeadRate, decay * s.HeadDecay
	}
	if s.LayerDecay > 0 {
		return math.Pow(s.LayerDecay, float64(p.Depth)), decay
	}
	return 1, decay
}

// Step clips the gradients and moves every parameter, with all rates multiplied
// by scale (the schedule). It returns the norm of the whole gradient before
// clipping. If that is not finite nothing moves and the error is ErrNonFinite.
func (o *Optimizer) Step(scale float64) (norm float64, err error) {
	m, err := o.Start(scale)
	if err != nil {
		return 0, err
	}
	return m.Norm()
}

// Start is Step that does not wait for a device: the norm is asked for later, and
// has to be before the next Start.
func (o *Optimizer) Start(scale float64) (*Move, error) {
	m := &Move{optimizer: o}
	var by engine.Mover
	var ok bool
	err := engine.Observe(o.observer, o.clipping, func() (err error) {
		by, ok, err = o.clip(m)
		return err
	})
	if err != nil || !ok {
		return m, err
	}
	for i, f := range o.factor {
		o.slots[i].Rate = float32(o.settings.Rate * scale * f)
	}
	o.step++
	return m, engine.Observe(o.observer, o.moving, func() error { return o.move(m, by) })
}

// move moves every parameter.
func (o *Optimizer) move(m *Move, by engine.Mover) error {
	switch o.settings.Name {
	case "adam", "adamw":
		return o.bySteps(func(group []engine.Slot, step int) error { return by.AdamW(group, o.adam(step)) })
	case "radam":
		return o.bySteps(func(group []engine.Slot, step int) error { return o.radam(m, by, group, step) })
	case "rmsprop":
		return by.RMSprop(o.slots, engine.RMSpropSpec{Alpha: o.settings.Alpha, Eps: o.settings.Eps, Momentum: float32(o.settings.Momentum)})
	}
	return by.SGD(o.slots, engine.SGDSpec{Momentum: float32(o.settings.Momentum), Nesterov: o.settings.Nesterov})
}

// adam is AdamW, or Adam, in the given step.
func (o *Optimizer) adam(step int) engine.AdamWSpec {
	return engine.AdamWSpec{Beta1: o.settings.Beta1, Beta2: o.settings.Beta2, Eps: o.settings.Eps, Coupled: o.settings.Name == "adam", Step: step}
}

// bySteps calls f with the slots in groups that have taken equally many steps, this one
// included.
func (o *Optimizer) bySteps(f func(group []engine.Slot, step int) error) error {
	from := slices.Min(o.since)
	for {
		next := o.step
		group := make([]engine.Slot, 0, len(o.slots))
		for i, s := range o.since {
			switch {
			case s == from:
				group = append(group, o.slots[i])
			case s > from:
				next = min(next, s)
			}
		}
		if err := f(group, o.step-from); err != nil {
			return err
		}
		if next == o.step {
			return nil
		}
		from = next
	}
}

// Follow makes o continue where an optimizer of fewer parameters stopped: it takes
// over that one's steps and moments. Parameters that it did not move begin now,
// as if this were their first step.
func (o *Optimizer) Follow(before *Optimizer) {
	had := map[string]int{}
	for i, name := range before.names {
		had[name] = i
	}
	o.step = before.step
	for i, name := range o.names {
		if j, ok := had[name]; ok {
			o.slots[i].State, o.since[i] = before.slots[j].State, before.since[j]
		} else {
			o.since[i] = o.step
		}
	}
}

// Gradients lists the names of the parameters that o moves, and the gradient of each.
func (o *Optimizer) Gradients() (names []string, grads []engine.Tensor) {
	return slices.Clone(o.names), slices.Clone(o.grads)
}

// Steps is the number of steps taken.
func (o *Optimizer) Steps() int { return o.step }

// SetSteps restores the number of steps taken, for resuming. Parameters of the
// backbone began after the step released, the end of a warm-up, the others at the
// first.
func (o *Optimizer) SetSteps(n, released int) {
	o.step = n
	for i, group := range o.groups {
		o.since[i] = 0
		if group == layers.Backbone {
			o.since[i] = released
		}
	}
}

// State lists the optimizer's tensors by name, for a checkpoint to save or to
// fill.
func (o *Optimizer) State() []NamedTensor {
	suffix := []string{"momentum"}
	switch o.settings.Name {
	case "adam", "adamw", "radam":
		suffix = []string{"exp_avg", "exp_avg_sq"}
	case "rmsprop":
		suffix = []string{"square_avg", "momentum"}
	}
	var out []NamedTensor
	for i, name := range o.names {
		for j := 0; j < o.settings.states(); j++ {
			out = append(out, NamedTensor{"optimizer/" + suffix[j] + "/" + name, o.slots[i].State[j]})
		}
	}
	return out
}

// NamedTensor is a tensor as it stands in a checkpoint.
type NamedTensor struct {
	Name  string
	Value engine.Tensor
}
