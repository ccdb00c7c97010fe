package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// operand is an argument of an operation, with a shape that fits the others.
type operand struct {
	name  string
	shape []int
	// optional may be nil.
	optional bool
	// free dimensions (bit i for axis i) do not have to agree with anything.
	free int
	// resized may have any shape of the same size.
	resized bool
}

// operation is a valid call. Its errors must hold the name, spaces and case
// aside.
type operation struct {
	name     string
	operands []operand
	f        func(e engine.Engine, t []engine.Tensor) error
}

func arg(name string, shape ...int) operand { return operand{name: name, shape: shape} }

func opt(name string, shape ...int) operand {
	return operand{name: name, shape: shape, optional: true}
}

// wrongShapes spoils the operands of every operation one at a time.
func (s *suite) wrongShapes(t *testing.T) {
	for _, op := range operations() {
		if err := s.try(op, -1, nil); err != nil {
			t.Errorf("%s: a valid call fails: %v", op.name, err)
			continue
		}
		for i, o := range op.operands {
			for what, spoiled := range s.spoil(t, o) {
				s.wantError(t, op.name, fmt.Sprintf("%s is %s", o.name, what), s.try(op, i, spoiled))
			}
		}
	}
}

// try calls op, with another tensor in place of operand i if i is not negative.
func (s *suite) try(op operation, i int, other engine.Tensor) error {
	list := make([]engine.Tensor, len(op.operands))
	for j, o := range op.operands {
		x, err := s.eng.New(o.shape...)
		if err != nil {
			return err
		}
		list[j] = x
	}
	if i >= 0 {
		list[i] = other
	}
	return guard(func() error { return op.f(s.eng, list) })
}

// foreign is a tensor that no engine made.
type foreign []int

func (f foreign) Shape() engine.Shape { return engine.Shape(f) }
func (f foreign) Size() int           { return engine.Shape(f).Size() }

// spoil returns tensors that cannot take an operand's place, by description.
func (s *suite) spoil(t *testing.T, o operand) map[string]engine.Tensor {
	t.Helper()
	list := map[string]engine.Tensor{
		"of another engine": foreign(o.shape),
	}
	add := func(shape []int) {
		t.Helper()
		x, err := s.eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		list[fmt.Sprint(shape)] = x
	}
	for axis := range o.shape {
		if o.free>>axis&1 == 0 {
			longer := append([]int{}, o.shape...)
			longer[axis]++
			add(longer)
		}
	}
	if !o.resized {
		add(append([]int{1}, o.shape...))
		if len(o.shape) > 1 {
			add(o.shape[:len(o.shape)-1])
		}
	}
	if !o.optional {
		list["nil"] = nil
	}
	return list
}

// wantError demands an error that names the operation, not a panic.
func (s *suite) wantError(t *testing.T, name, what string, err error) {
	t.Helper()
	var p *panicError
	switch {
	case err == nil:
		t.Errorf("%s: no error where %s", name, what)
	case errors.As(err, &p):
		t.Errorf("%s: where %s: %v", name, what, err)
	case !strings.Contains(letters(err.Error()), letters(name)):
		t.Errorf("%s: where %s, the error does not name the operation: %v", name, what, err)
	}
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// wrongSettings has fitting shapes but settings that mean nothing.
func (s *suite) wrongSettings(t *testing.T) {
	shape := func(shape ...int) engine.Tensor {
		x, err := s.eng.New(shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	check := func(name, what string, f func() error) {
		t.Helper()
		s.wantError(t, name, what, guard(f))
	}
	for _, bad := range [][]int{{0}, {-1}, {2, 0, 3}, {1 << 40, 1 << 40}} {
		check("new", fmt.Sprintf("the shape is %v", bad), func() error { _, err := s.eng.New(bad...); return err })
	}
	check("write", "there are fewer numbers", func() error { return s.eng.Write(shape(2, 3), make([]float32, 5)) })
	check("write", "there are more numbers", func() error { return s.eng.Write(shape(2, 3), make([]float32, 7)) })
	check("read", "there is less room", func() error { return s.eng.Read(make([]float32, 5), shape(2, 3)) })
	check("read", "there is more room", func() error { return s.eng.Read(make([]float32, 7), shape(2, 3)) })
	check("concat", "nothing is joined", func() error { return s.eng.Concat(shape(2, 3)) })
	for _, from := range []int{-1, 4, 1 << 40} {
		check("slice", fmt.Sprintf("it starts at %d", from), func() error { return s.eng.Slice(shape(2, 2), shape(2, 5), from) })
	}
	s.wrongConv(check, shape)
	s.wrongPool(check, shape)
	check("batch norm", "a channel has one value", func() error {
		c := func() engine.Tensor { return shape(3) }
		return s.eng.BatchNorm(shape(1, 3), c(), c(), c(), c(), shape(1, 3), c(), c(), 1e-5, 0.1)
	})
	s.wrongTokens(check, shape)
	for _, m := range []metric.Metric{{}, {Kind: metric.BRM, P: 3}, {Kind: 99}, {Kind: metric.BRM, Restriction: 99, P: 2}, {Kind: metric.BRM, Restriction: metric.ISRU, P: 2}, {Kind: metric.Poincare}, {Kind: metric.Lorentz, Curvature: 1, Clip: -1}} {
		check("pairwise", fmt.Sprintf("the metric is %+v", m), func() error { return s.eng.Pairwise(shape(2, 3), shape(2, 4), shape(3, 4), m) })
		check("pairwise", fmt.Sprintf("the metric is %+v", m), func() error {
			return s.eng.PairwiseGrad(shape(2, 4), nil, shape(2, 3), shape(2, 3), shape(2, 4), shape(3, 4), m)
		})
		check("pairwise groups", fmt.Sprintf("the metric is %+v", m), func() error { return s.eng.PairwiseGroups(shape(4, 2), shape(4, 3), m) })
		check("pairwise groups", fmt.Sprintf("the metric is %+v", m), func() error {
			return s.eng.PairwiseGroupsGrad(shape(4, 3), shape(4, 2), shape(4, 2), shape(4, 3), m)
		})
	}
	check("pairwise", "both gradients of two tensors go to one", func() error {
		both := shape(3, 4)
		return s.eng.PairwiseGrad(both, both, shape(3, 3), shape(3, 3), shape(3, 4), shape(3, 4), metric.Metric{Kind: metric.Euclidean})
	})
	check("pairwise groups", "the last group has fewer rows", func() error {
		return s.eng.PairwiseGroups(shape(5, 2), shape(5, 3), metric.Metric{Kind: metric.Cosine})
	})
	slot := engine.Slot{Param: shape(2), Grad: shape(2)}
	check("sgd", "there is momentum but no buffer", func() error { return s.eng.SGD([]engine.Slot{slot}, engine.SGDSpec{Momentum: 0.9}) })
	slot.State[0] = shape(2)
	check("rmsprop", "there is momentum but no buffer", func() error {
		return s.eng.RMSprop([]engine.Slot{slot}, engine.RMSpropSpec{Alpha: 0.99, Momentum: 0.9})
	})
	slot.State = [2]engine.Tensor{shape(2), shape(2)}
	check("adamw", "the step is 0", func() error {
		return s.eng.AdamW([]engine.Slot{slot}, engine.AdamWSpec{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
	})
}

func (s *suite) wrongConv(check func(name, what string, f func() error), shape func(...int) engine.Tensor) {
	for _, spec := range []engine.ConvSpec{
		{}, {KernelH: 3, KernelW: 3, PadH: 1, PadW: 1}, {KernelH: 3, KernelW: 3, StrideH: 1, PadH: 1, PadW: 1},
		{KernelH: 3, KernelW: 3, StrideH: -1, StrideW: 1}, {KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: -1, PadW: 1},
		{KernelH: 5, KernelW: 3, StrideH: 1, StrideW: 1, PadW: 1}, engine.SquareConv(3, 1, 2),
	} {
		what := fmt.Sprintf("the geometry is %+v", spec)
		check("conv", what, func() error {
			return s.eng.Conv(shape(1, 2, 4, 4), shape(1, 3, 4, 4), shape(2, 3, 3, 3), spec, engine.Epilogue{})
		})
		check("conv", what, func() error {
			return s.eng.ConvGradInput(shape(1, 3, 4, 4), shape(1, 2, 4, 4), shape(2, 3, 3, 3), spec)
		})
		check("conv", what, func() error {
			return s.eng.ConvGradWeights(shape(2, 3, 3, 3), nil, shape(1, 2, 4, 4), shape(1, 3, 4, 4), spec)
		})
	}
	check("conv", "the kernel is larger than the padded input", func() error {
		return s.eng.Conv(shape(1, 2, 1, 1), shape(1, 3, 4, 4), shape(2, 3, 7, 7), engine.SquareConv(7, 1, 1), engine.Epilogue{})
	})
}

func (s *suite) wrongPool(check func(name, what string, f func() error), shape func(...int) engine.Tensor) {
	for _, spec := range []engine.PoolSpec{
		{}, {KernelH: 3, KernelW: 3, PadH: 1, PadW: 1}, {KernelH: 3, KernelW: 3, StrideH: 1, StrideW: -1, PadH: 1, PadW: 1},
		{KernelH: 3, KernelW: 3, StrideH: 1, StrideW: 1, PadH: -1, PadW: 1}, engine.SquarePool(2, 1, 0, false),
		engine.SquarePool(1, 2, 2, false), // a window in the padding, though 4x4 gives 4x4
	} {
		what := fmt.Sprintf("the geometry is %+v", spec)
		x, y := shape(1, 2, 4, 4), shape(1, 2, 4, 4)
		check("max pool", what, func() error { return s.eng.MaxPool(y, x, spec) })
		check("max pool", what, func() error { return s.eng.MaxPoolGrad(shape(1, 2, 4, 4), y, x, y, spec) })
		check("average pool", what, func() error { return s.eng.AvgPool(y, x, spec) })
		check("average pool", what, func() error { return s.eng.AvgPoolGrad(x, y, spec) })
	}
}
