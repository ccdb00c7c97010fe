//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// parameters are tensors of unlike sizes, on the device and for the reference.
type parameters struct {
	b       *bench
	sizes   []int64
	arrays  [4][]array
	tensors []engine.Slot
	slots   array
	table   array
	chunks  int
}

func newParameters(b *bench) *parameters {
	p := &parameters{b: b, sizes: []int64{1, 300, 2*kernels.ChunkLength + 5, 64}}
	var slots []kernels.Slot
	for i, n := range p.sizes {
		var x [4][]float32
		for j := range x {
			x[j] = b.normal(int(n))
			if j == 3 { // second moments are not negative
				for k, v := range x[j] {
					x[j][k] = v * v
				}
			}
			p.arrays[j] = append(p.arrays[j], b.up(kernels.F32, x[j]))
		}
		s := kernels.Slot{W: p.arrays[0][i].Ptr(), G: p.arrays[1][i].Ptr(), First: p.arrays[2][i].Ptr(), Second: p.arrays[3][i].Ptr(),
			N: n, Rate: .01 * float32(i+1), Decay: .1 * float32(i)}
		slots = append(slots, s)
		m := int(n)
		p.tensors = append(p.tensors, engine.Slot{Param: b.tensor(x[0], m), Grad: b.tensor(x[1], m),
			State: [2]engine.Tensor{b.tensor(x[2], m), b.tensor(x[3], m)}, Rate: s.Rate, Decay: s.Decay})
	}
	chunks := kernels.Chunks(p.sizes)
	p.chunks = len(chunks)
	p.slots = b.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&slots[0])), len(slots)*int(unsafe.Sizeof(slots[0]))))
	p.table = b.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&chunks[0])), len(chunks)*int(unsafe.Sizeof(chunks[0]))))
	return p
}

func (b *bench) bytes(x []byte) array {
	a := b.empty(kernels.F32, len(x)/4)
	copy(a.Bytes(), x)
	return a
}

func (p *parameters) compare(rel float64, states int) {
	p.b.t.Helper()
	for i, s := range p.tensors {
		want := []engine.Tensor{s.Param, nil, s.State[0], s.State[1]}
		for j, name := range []string{"parameter", "", "first state", "second state"} {
			if j == 1 || j-1 > states {
				continue
			}
			p.b.same(name, kernels.F32, p.arrays[j][i].down(), p.b.read(want[j]), rel)
		}
	}
}

func TestAdamWUpdatesEveryParameterInOneLaunch(t *testing.T) {
	b := newBench(t)
	p := newParameters(b)
	spec := engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 3}
	hyper := []float32{.9, .1, .999, .001, float32(1 / (1 - math.Pow(.9, 3))), float32(1 / (1 - math.Pow(.999, 3))), 1e-8}
	b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, hyper).Ptr(), false, kernels.Clip{}))
	b.must(b.ref.AdamW(p.tensors, spec))
	p.compare(1e-6, 2)
}

func TestCoupledDecayIsPartOfTheGradient(t *testing.T) {
	b := newBench(t)
	p := newParameters(b)
	spec := engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 1}
	hyper := []float32{.9, .1, .999, .001, 10, 1000, 1e-8}
	b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, hyper).Ptr(), true, kernels.Clip{}))
	for i, s := range p.tensors {
		w, g := b.read(s.Param), b.read(s.Grad)
		for j := range g {
			g[j] += s.Decay * w[j]
		}
		b.must(b.ref.Write(s.Grad, g))
		p.tensors[i].Decay = 0
	}
	b.must(b.ref.AdamW(p.tensors, spec))
	p.compare(2e-6, 2)
}

func TestSGDKernels(t *testing.T) {
	for _, spec := range []engine.SGDSpec{{}, {Momentum: .9}, {Momentum: .9, Nesterov: true}} {
		b := newBench(t)
		p := newParameters(b)
		b.run(kernels.SGD(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, []float32{spec.Momentum}).Ptr(), spec.Nesterov, kernels.Clip{}))
		b.must(b.ref.SGD(p.tensors, spec))
		p.compare(1e-6, 1)
	}
}

func TestGradientNormAndClip(t *testing.T) {
	b := newBench(t)
	p := newParameters(b)
	var xs []engine.Tensor
	for _, s := range p.tensors {
		xs = append(xs, s.Param)
	}
	out, part := b.empty(kernels.F32, 2), b.empty(kernels.F32, 2*p.chunks)
	b.run(kernels.SumSquares(p.chunks, p.slots.Ptr(), p.table.Ptr(), part.Ptr(), out.Ptr())...)
	want, err := b.ref.SumSquares(xs)
	b.must(err)
	got := *(*float64)(unsafe.Pointer(&out.Bytes()[0]))
	if math.Abs(got-want) > 1e-12*want {
		t.Errorf("sum of squares %v, want %v", got, want)
	}
	b.run(kernels.Clamp(p.chunks, p.slots.Ptr(), p.table.Ptr(), 1.5))
	b.must(b.ref.Clamp(xs, 1.5))
	p.compare(1e-7, 0)
}

// What a clipped launch moves is what an update moves whose gradients were clipped
// before it.
func TestUpdatesClipGradientsAsTheyReadThem(t *testing.T) {
	for _, limits := range []struct{ norm, value float32 }{{0, 0}, {1e9, 0}, {3, 0}, {0, .4}, {50, .2}} {
		for _, name := range []string{"sgd", "adamw", "adam", "rmsprop"} {
			b := newBench(t)
			p := newParameters(b)
			factor := p.clipFactor(limits.norm)
			c := kernels.Clip{Factor: factor.Ptr() + 8, Limit: limits.value}
			p.clipReference(limits.norm, limits.value)
			switch name {
			case "sgd":
				b.run(kernels.SGD(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, []float32{.9}).Ptr(), false, c))
				b.must(b.ref.SGD(p.tensors, engine.SGDSpec{Momentum: .9}))
			case "rmsprop":
				for i, s := range p.arrays[2] { // its first state is a mean of squares
					x := s.down()
					for j := range x {
						x[j] *= x[j]
					}
					copy(unsafe.Slice((*float32)(unsafe.Pointer(&s.Bytes()[0])), s.n), x)
					b.must(b.ref.Write(p.tensors[i].State[0], x))
				}
				b.run(kernels.RMSprop(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, []float32{.99, .01, 1e-8, .9}).Ptr(), c))
				b.must(b.ref.RMSprop(p.tensors, engine.RMSpropSpec{Alpha: .99, Eps: 1e-8, Momentum: .9}))
			default:
				hyper := []float32{.9, .1, .999, .001, 10, 1000, 1e-8}
				b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, hyper).Ptr(), name == "adam", c))
				b.must(b.ref.AdamW(p.tensors, engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 1, Coupled: name == "adam"}))
			}
			p.compare(2e-6, 1)
		}
	}
}

func TestAGradientThatIsNotFiniteMovesNothing(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		b := newBench(t)
		p := newParameters(b)
		g := p.arrays[1][2]
		unsafe.Slice((*float32)(unsafe.Pointer(&g.Bytes()[0])), g.n)[kernels.ChunkLength+3] = bad
		c := kernels.Clip{Factor: p.clipFactor(1).Ptr() + 8}
		hyper := b.up(kernels.F32, []float32{.9, .1, .999, .001, 10, 1000, 1e-8}).Ptr()
		b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), hyper, false, c), kernels.SGD(p.chunks, p.slots.Ptr(), p.table.Ptr(), hyper, true, c),
			kernels.RMSprop(p.chunks, p.slots.Ptr(), p.table.Ptr(), hyper, c))
		p.compare(0, 2)
	}
}

// clipFactor leaves the sum of squares of the gradients, and their factor behind it.
func (p *parameters) clipFactor(norm float32) array {
	var slots []kernels.Slot
	for i, g := range p.arrays[1] {
		slots = append(slots, kernels.Slot{W: g.Ptr(), N: p.sizes[i]})
	}
	table := p.b.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&slots[0])), len(slots)*int(unsafe.Sizeof(slots[0]))))
	out, part := p.b.empty(kernels.F32, 4), p.b.empty(kernels.F32, 2*p.chunks)
	p.b.run(kernels.ClipFactor(p.chunks, table.Ptr(), p.table.Ptr(), part.Ptr(), out.Ptr(), out.Ptr()+8, norm)...)
	return out
}

// clipReference clips the reference's gradients one after the other.
func (p *parameters) clipReference(norm, value float32) {
	var grads []engine.Tensor
	for _, s := range p.tensors {
		grads = append(grads, s.Grad)
	}
	sum, err := p.b.ref.SumSquares(grads)
	p.b.must(err)
	if size := math.Sqrt(sum); norm > 0 && size > float64(norm) {
		for _, g := range grads {
			p.b.must(p.b.ref.Scale(g, g, float32(float64(norm)/size)))
		}
	}
	if value > 0 {
		p.b.must(p.b.ref.Clamp(grads, value))
	}
}

func TestChunksCoverEveryNumberOnce(t *testing.T) {
	sizes := []int64{1, kernels.ChunkLength, 0, 3*kernels.ChunkLength + 1}
	var seen []int64
	for _, c := range kernels.Chunks(sizes) {
		for int(c.Slot) >= len(seen) {
			seen = append(seen, 0)
		}
		if c.From != seen[c.Slot] {
			t.Errorf("%+v begins elsewhere than at %d", c, seen[c.Slot])
		}
		seen[c.Slot] += int64(c.Length)
	}
	if !slices.Equal(seen, sizes) {
		t.Errorf("covered %v of %v", seen, sizes)
	}
}
