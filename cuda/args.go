package cuda

import (
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// args gathers the arguments of one operation and keeps the first complaint.
type args struct {
	eng   *Engine
	op    string
	err   error
	after []kernels.Launch // see out
}

func (e *Engine) args(op string) *args {
	a := &args{eng: e, op: op}
	a.failed(e.scratch.begin())
	return a
}

// named is an argument with its name, for messages. A nil tensor stands for an
// optional argument that is not there.
type named struct {
	*Tensor
	name string
}

func (n named) String() string {
	if n.Tensor == nil {
		return n.name
	}
	return fmt.Sprintf("%s %v", n.name, []int(n.shape))
}

// Format is that of String: a Tensor's own says where it lies instead.
func (n named) Format(f fmt.State, _ rune) { fmt.Fprint(f, n.String()) }

func (n named) there() bool { return n.Tensor != nil }

func (a *args) check(ok bool, format string, v ...any) {
	if !ok && a.err == nil {
		a.err = fmt.Errorf("cuda: "+a.op+": "+format, v...)
	}
}

// any unwraps a tensor of any shape, whose numbers lie one behind the other.
func (a *args) any(name string, t engine.Tensor) named {
	x := a.wholeOrPart(name, t)
	a.check(x.width == 0, "%v is a part of a map", x)
	return x
}

// wholeOrPart unwraps a tensor that may be a part of a larger map.
func (a *args) wholeOrPart(name string, t engine.Tensor) named {
	d, ok := t.(*Tensor)
	switch {
	case t == nil || ok && d == nil:
		a.check(false, "%s is nil", name)
	case !ok:
		a.check(false, "%s is a %T, want a tensor of this engine", name, t)
	case d.eng != a.eng:
		a.check(false, "%s is a tensor of another engine", name)
	default:
		return named{d, name}
	}
	return named{&Tensor{eng: a.eng}, name} // so that later checks find something
}

// of unwraps a tensor of the given shape, in which -1 stands for any dimension.
func (a *args) of(name string, t engine.Tensor, shape ...int) named {
	x := a.any(name, t)
	if a.err == nil {
		a.check(fits(x.shape, shape), "%v, want shape %v", x, shape)
	}
	return x
}

func fits(have, want []int) bool {
	if len(have) != len(want) {
		return false
	}
	for i, d := range want {
		if d >= 0 && d != have[i] {
			return false
		}
	}
	return true
}

// maybe is of for a tensor that may be nil.
func (a *args) maybe(name string, t engine.Tensor, shape ...int) named {
	if d, ok := t.(*Tensor); t == nil || ok && d == nil {
		return named{nil, name}
	}
	return a.of(name, t, shape...)
}

func (a *args) same(x, y named) {
	if a.err == nil {
		a.check(slices.Equal(x.shape, y.shape), "%v and %v differ in shape", x, y)
	}
}

// images unwraps a tensor of shape (N, C, H, W).
func (a *args) images(name string, t engine.Tensor) named { return a.of(name, t, -1, -1, -1, -1) }

// lines unwraps a tensor of at least least axes as rows along the last one.
func (a *args) lines(name string, t engine.Tensor, least int) (x named, rows, width int) {
	x = a.any(name, t)
	a.check(a.err != nil || len(x.shape) >= least && len(x.shape) > 0, "%v, want %d axes or more", x, least)
	if a.err != nil {
		return x, 0, 0
	}
	width = x.shape[len(x.shape)-1]
	return x, x.size / width, width
}

// apart demands that two arguments are not one tensor.
func (a *args) apart(dst named, sources ...named) {
	for _, s := range sources {
		if a.err == nil && dst.there() && s.there() {
			a.check(dst.ptr != s.ptr, "%v and %v share memory", dst, s)
		}
	}
}
