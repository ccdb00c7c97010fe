package cuda

import (
	"math"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// table is what one launch over all parameters reads: the parameters, how they
// are cut into the work of blocks, and the numbers that they share.
type table struct {
	chunks       int
	slots, parts device.Ptr
	hyper        device.Ptr
}

// table sends a table to the device. It holds until consumed is called.
func (a *args) table(slots []kernels.Slot, hyper ...float32) (t table, p *place) {
	if a.err != nil {
		return t, &place{}
	}
	sizes := make([]int64, len(slots))
	for i, s := range slots {
		sizes[i] = s.N
	}
	parts := kernels.Chunks(sizes)
	var host []byte
	host = appendBytes(host, slots)
	atParts := len(host)
	host = appendBytes(host, parts)
	atHyper := len(host)
	host = appendBytes(host, append(hyper, 0)) // never empty
	p = a.staged(unsafe.Pointer(unsafe.SliceData(host)), int64(len(host)))
	return table{len(parts), p.dev, p.dev + device.Ptr(atParts), p.dev + device.Ptr(atHyper)}, p
}

func appendBytes[T any](to []byte, list []T) []byte {
	if len(list) == 0 {
		return to
	}
	return append(to, unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))...)
}

// plain makes slots of tensors that are read or changed alone.
func (a *args) plain(xs []engine.Tensor) []kernels.Slot {
	var slots []kernels.Slot
	for _, x := range xs {
		s := a.any("x", x)
		if a.err != nil {
			return nil
		}
		a.check(s.typ == device.F32 && s.parts <= 1, "%v is stored as %v in %d parts, want float32 in one", s, s.typ, max(1, s.parts))
		slots = append(slots, kernels.Slot{W: s.ptr, N: int64(s.size)})
	}
	return slots
}

// SumSquares returns the sum of squares over all of xs.
func (e *Engine) SumSquares(xs []engine.Tensor) (float64, error) {
	a := e.args("sum of squares")
	slots := a.plain(xs)
	if a.err != nil || len(slots) == 0 {
		return 0, a.err
	}
	if a.failed(e.attend()); a.err != nil {
		return 0, a.err
	}
	t, p := a.table(slots)
	part := a.scratch(8 * int64(t.chunks))
	a.launch(kernels.SumSquares(t.chunks, t.slots, t.parts, part, e.word.ptr)...)
	a.consumed(p)
	var sum float64
	a.download(unsafe.Pointer(&sum), e.word.ptr, 8)
	return sum, a.err
}

// Clamp limits every element to [-limit, limit].
func (e *Engine) Clamp(xs []engine.Tensor, limit float32) error {
	a := e.args("clamp")
	a.check(limit >= 0, "limit is %v, want 0 or more", limit)
	slots := a.plain(xs)
	if a.err != nil || len(slots) == 0 {
		return a.err
	}
	for _, x := range xs {
		x.(*Tensor).touched()
	}
	if a.failed(e.attend()); a.err != nil {
		return a.err
	}
	t, p := a.table(slots)
	a.launch(kernels.Clamp(t.chunks, t.slots, t.parts, limit))
	a.consumed(p)
	return a.err
}

// optimized checks all slots before any is changed.
func (a *args) optimized(in []engine.Slot, states int) []kernels.Slot {
	var list []kernels.Slot
	for _, s := range in {
		w, g := a.any("parameter", s.Param), a.any("gradient", s.Grad)
		if a.same(w, g); a.err != nil {
			return nil
		}
		o := kernels.Slot{W: w.ptr, G: a.in(g, device.F32), N: int64(w.size), Rate: s.Rate, Decay: s.Decay}
		a.check(w.typ == device.F32, "%v is stored as %v, want float32", w, w.typ)
		w.touched()
		for i, to := range []*device.Ptr{&o.First, &o.Second}[:states] {
			state := a.of([]string{"first state", "second state"}[i], s.State[i], w.shape...)
			state.touched()
			*to = state.ptr
		}
		if a.err != nil {
			return nil
		}
		list = append(list, o)
	}
	return list
}

// SGD updates every slot, in one launch.
func (e *Engine) SGD(slots []engine.Slot, spec engine.SGDSpec) error {
	return e.sgd(slots, spec, kernels.Clip{})
}

func (e *Engine) sgd(slots []engine.Slot, spec engine.SGDSpec, c kernels.Clip) error {
	a := e.args("sgd")
	states := 1
	if spec.Momentum == 0 {
		states = 0
	}
	list := a.optimized(slots, states)
	return a.update(list, func(t table) kernels.Launch {
		return kernels.SGD(t.chunks, t.slots, t.parts, t.hyper, spec.Nesterov, c)
	}, spec.Momentum)
}

// AdamW updates every slot, in one launch.
func (e *Engine) AdamW(slots []engine.Slot, spec engine.AdamWSpec) error {
	return e.adamW(slots, spec, kernels.Clip{})
}

func (e *Engine) adamW(slots []engine.Slot, spec engine.AdamWSpec, c kernels.Clip) error {
	a := e.args("adamw")
	list := a.optimized(slots, 2)
	a.check(spec.Step >= 1, "step is %d, the first is 1", spec.Step)
	correct := func(beta float64) float32 { return float32(1 / (1 - math.Pow(beta, float64(spec.Step)))) }
	return a.update(list, func(t table) kernels.Launch {
		return kernels.Adam(t.chunks, t.slots, t.parts, t.hyper, spec.Coupled, c)
	}, float32(spec.Beta1), float32(1-spec.Beta1), float32(spec.Beta2), float32(1-spec.Beta2), correct(spec.Beta1), correct(spec.Beta2), float32(spec.Eps))
}

// RMSprop updates every slot, in one launch.
func (e *Engine) RMSprop(slots []engine.Slot, spec engine.RMSpropSpec) error {
	return e.rmsprop(slots, spec, kernels.Clip{})
}

func (e *Engine) rmsprop(slots []engine.Slot, spec engine.RMSpropSpec, c kernels.Clip) error {
	a := e.args("rmsprop")
	states := 2
	if spec.Momentum == 0 {
		states = 1
	}
	list := a.optimized(slots, states)
	return a.update(list, func(t table) kernels.Launch {
		return kernels.RMSprop(t.chunks, t.slots, t.parts, t.hyper, c)
	}, float32(spec.Alpha), float32(1-spec.Alpha), float32(spec.Eps), spec.Momentum)
}

// update launches an optimizer over a table of slots.
func (a *args) update(slots []kernels.Slot, launch func(t table) kernels.Launch, hyper ...float32) error {
	if a.err != nil || len(slots) == 0 {
		return a.err
	}
	if a.failed(a.eng.attend()); a.err != nil {
		return a.err
	}
	t, p := a.table(slots, hyper...)
	a.launch(launch(t))
	a.consumed(p)
	return a.err
}
