package cpu

import (
	"slices"
	"sync/atomic"

	"github.com/vernier-ml/vernier/engine"
)

// New returns a zeroed tensor; without dimensions it is a scalar.
func (e *Engine) New(shape ...int) (engine.Tensor, error) {
	n, err := elements("new", shape)
	if err != nil {
		return nil, err
	}
	v := make([]float32, n)
	preferHugePages(v)
	return &Tensor{shape: slices.Clone(shape), v: v, keepable: true}, nil
}

// Write copies host numbers into dst.
func (e *Engine) Write(dst engine.Tensor, src []float32) error {
	a := args{op: "write"}
	d := a.get("dst", dst, -1)
	if a.err == nil && len(d.v) != len(src) {
		a.fail("%d numbers do not fit %v", len(src), d)
	}
	if a.err == nil {
		copy(d.v, src)
	}
	return a.err
}

// Read copies src to the host.
func (e *Engine) Read(dst []float32, src engine.Tensor) error {
	a := args{op: "read"}
	s := a.source("src", src, -1)
	if a.err == nil && len(s.v) != len(dst) {
		a.fail("%v does not fit into %d numbers", s, len(dst))
	}
	if a.err == nil {
		copy(dst, s.v)
	}
	return a.err
}

// Copy copies src into dst; only their sizes must agree.
func (e *Engine) Copy(dst, src engine.Tensor) error {
	a := args{op: "copy"}
	d, s := a.get("dst", dst, -1), a.source("src", src, -1)
	if a.err == nil && len(d.v) != len(s.v) {
		a.fail("%v and %v differ in size", d, s)
	}
	if a.err != nil {
		return a.err
	}
	e.pool.spans(len(d.v), func(from, to int) { copy(d.v[from:to], s.v[from:to]) })
	return nil
}

// Zero clears dst.
func (e *Engine) Zero(dst engine.Tensor) error {
	a := args{op: "zero"}
	d := a.get("dst", dst, -1)
	if a.err != nil {
		return a.err
	}
	e.pool.spans(len(d.v), func(from, to int) { clear(d.v[from:to]) })
	return nil
}

// Finite reports whether x holds neither NaN nor infinity.
func (e *Engine) Finite(x engine.Tensor) (bool, error) {
	a := args{op: "finite"}
	s := a.source("x", x, -1)
	if a.err != nil {
		return false, a.err
	}
	var bad atomic.Bool
	e.pool.spans(len(s.v), func(from, to int) {
		if !bad.Load() && !e.kernels.finite(s.v[from:to]) {
			bad.Store(true)
		}
	})
	return !bad.Load(), nil
}
