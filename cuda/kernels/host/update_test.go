//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/layers"
)

// parameters are tensors of unlike sizes, on the device and for the reference.
type parameters struct {
	b       *bench
	sizes   []int64
	arrays  [4][]array
	tensors []layers.Slot
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
		p.tensors = append(p.tensors, layers.Slot{Param: b.tensor(x[0], m), Grad: b.tensor(x[1], m),
			State: [2]layers.Tensor{b.tensor(x[2], m), b.tensor(x[3], m)}, Rate: s.Rate, Decay: s.Decay})
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
		want := []layers.Tensor{s.Param, nil, s.State[0], s.State[1]}
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
	spec := layers.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 3}
	hyper := []float32{.9, .1, .999, .001, float32(1 / (1 - math.Pow(.9, 3))), float32(1 / (1 - math.Pow(.999, 3))), 1e-8}
	b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, hyper).Ptr(), false))
	b.must(b.ref.AdamW(p.tensors, spec))
	p.compare(1e-6, 2)
}

func TestCoupledDecayIsPartOfTheGradient(t *testing.T) {
	b := newBench(t)
	p := newParameters(b)
	spec := layers.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: 1}
	hyper := []float32{.9, .1, .999, .001, 10, 1000, 1e-8}
	b.run(kernels.Adam(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, hyper).Ptr(), true))
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
	for _, spec := range []layers.SGDSpec{{}, {Momentum: .9}, {Momentum: .9, Nesterov: true}} {
		b := newBench(t)
		p := newParameters(b)
		b.run(kernels.SGD(p.chunks, p.slots.Ptr(), p.table.Ptr(), b.up(kernels.F32, []float32{spec.Momentum}).Ptr(), spec.Nesterov))
		b.must(b.ref.SGD(p.tensors, spec))
		p.compare(1e-6, 1)
	}
}

func TestGradientNormAndClip(t *testing.T) {
	b := newBench(t)
	p := newParameters(b)
	var xs []layers.Tensor
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
