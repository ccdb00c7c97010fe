//go:build cgo

package native

// #include "vernier_cudnn.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Plan chooses an algorithm that needs no more than limit bytes: of those that it
// times the fastest, or, where the convolution has to be deterministic, the first
// that works in the order that cuDNN knows without timing. By time two runs on one
// machine could choose different ones, each deterministic, and differ in the last
// bits.
func (d *Cudnn) Plan(dir device.Direction, c device.Conv, t device.Operands, work device.Ptr, limit int64) (device.Plan, error) {
	conv := C.vernier_conv{
		n: C.int(c.N), c: C.int(c.C), h: C.int(c.H), w: C.int(c.W), k: C.int(c.K), r: C.int(c.R), s: C.int(c.S),
		ho: C.int(c.Ho), wo: C.int(c.Wo), pad_h: C.int(c.PadH), pad_w: C.int(c.PadW),
		stride_h: C.int(c.StrideH), stride_w: C.int(c.StrideW), groups: 1, _type: C.CUDNN_FLOAT, math: C.CUDNN_DEFAULT_MATH,
	}
	if c.Depthwise {
		conv.groups = C.int(c.C)
	}
	switch {
	case c.Type == device.BF16:
		conv._type, conv.math = C.CUDNN_BFLOAT16, C.CUDNN_TENSOR_OP_MATH
	case c.Precision == device.Full:
		conv.math = C.CUDNN_FMA_MATH
	}
	if err := d.check("describing the convolution", C.vernier_conv_describe(d.table, &conv)); err != nil {
		return device.Plan{}, err
	}
	plan, err := d.choose(&conv, dir, c, operands(t, work), limit)
	if err != nil {
		C.vernier_conv_release(d.table, &conv)
		return device.Plan{}, err
	}
	d.plans = append(d.plans, &conv)
	plan.Handle = uintptr(len(d.plans))
	return plan, nil
}

func (d *Cudnn) choose(conv *C.vernier_conv, dir device.Direction, c device.Conv, o C.vernier_operands, limit int64) (device.Plan, error) {
	var results [C.CUDNN_ALGORITHMS]C.cudnn_perf
	var got C.int
	if c.Deterministic {
		if err := d.check("listing the algorithms", C.vernier_conv_rank(d.table, d.handle, C.int(dir), conv, &got, &results[0])); err != nil {
			return device.Plan{}, err
		}
	} else if err := d.check("trying the algorithms", C.vernier_conv_find(d.table, d.handle, C.int(dir), conv, &o, C.size_t(limit), &got, &results[0])); err != nil {
		return device.Plan{}, err
	}
	var usable []C.cudnn_perf // best first
	var broken error          // of an algorithm that failed for another reason than that it is not supported
	for _, r := range results[:got] {
		if int64(r.memory) > limit || c.Deterministic && r.deterministic != C.CUDNN_DETERMINISTIC {
			continue
		}
		if r.status != 0 {
			err := d.check(fmt.Sprintf("algorithm %d", int(r.algorithm)), r.status)
			var status *CudnnError
			if broken == nil && errors.As(err, &status) && !status.unsupported() && !status.foreign() {
				broken = err
			}
			continue
		}
		if c.Precision == device.Full && c.Type == device.F32 {
			if r.math != C.CUDNN_FMA_MATH && r.math != C.CUDNN_DEFAULT_MATH {
				continue
			}
			r.math = C.CUDNN_FMA_MATH
		}
		usable = append(usable, r)
	}
	failed := ""
	for _, r := range usable {
		err := d.check("choosing an algorithm", C.vernier_conv_choose(d.table, conv, &r))
		if err == nil && c.Deterministic { // nobody has tried it yet
			err = d.check("trying an algorithm", C.vernier_conv_run(d.table, d.handle, C.int(dir), conv, &o))
			r.millis = 0
		}
		if err == nil {
			return device.Plan{Algorithm: int(r.algorithm), Math: mathName(r.math), Workspace: int64(r.memory), Millis: float64(r.millis), Found: len(usable)}, nil
		}
		if !errors.Is(err, device.ErrNoAlgorithm) { // another algorithm would hide it
			return device.Plan{}, err
		}
		failed = "; " + err.Error()
	}
	if broken != nil {
		return device.Plan{}, broken
	}
	return device.Plan{}, fmt.Errorf("%w in cuDNN within %d MiB of workspace (of %d, deterministic wanted: %v)%s", device.ErrNoAlgorithm, limit>>20, int(got), c.Deterministic, failed)
}

// mathName is a cudnnMathType_t.
func mathName(t C.int) string {
	switch t {
	case C.CUDNN_DEFAULT_MATH:
		return "default"
	case C.CUDNN_TENSOR_OP_MATH:
		return "tensor cores"
	case C.CUDNN_FMA_MATH:
		return "fma"
	}
	return fmt.Sprintf("math type %d", int(t))
}
