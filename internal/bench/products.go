package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/engine"
)

// drawn makes tensors of normal numbers.
type drawn struct {
	eng engine.Engine
	rng *rand.Rand
	err error
}

func draw(eng engine.Engine) *drawn { return &drawn{eng: eng, rng: rand.New(rand.NewPCG(1, 1))} }

func (d *drawn) tensor(shape ...int) engine.Tensor {
	if d.err != nil {
		return nil
	}
	t, err := d.eng.New(shape...)
	if err != nil {
		d.err = err
		return nil
	}
	host := make([]float32, t.Size())
	for i := range host {
		host[i] = float32(d.rng.NormFloat64())
	}
	d.err = d.eng.Write(t, host)
	return t
}

// gemm times matrix products (m, k) times (k, n): square ones, and the skinny
// ones of heads and proxies.
func gemm() Benchmark {
	b := Benchmark{Name: "gemm", Text: "matrix products"}
	for _, s := range [][3]int{{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {32, 512, 1024}, {32, 100, 512}, {180, 11318, 512}} {
		m, n, k := s[0], s[1], s[2]
		name := fmt.Sprintf("%dx%dx%d", m, n, k)
		if m == n && n == k {
			name = fmt.Sprint(m)
		}
		b.Cases = append(b.Cases, Case{Name: name, start: func(_ context.Context, eng engine.Engine, _ int) (*work, error) {
			d := draw(eng)
			x, y, z := d.tensor(m, k), d.tensor(k, n), d.tensor(m, n)
			return &work{flops: 2 * float64(m) * float64(n) * float64(k),
				run: func() error { return eng.MatMul(z, x, y, false, false, false) }}, d.err
		}})
	}
	return b
}

// conv times layers of BN-Inception, forward with bias and ReLU, and both
// gradients.
func conv() Benchmark {
	b := Benchmark{Name: "conv", Text: "convolutions of BN-Inception", Batch: 16}
	for _, s := range []struct {
		name          string
		in, size, out int
		spec          engine.ConvSpec
	}{
		{"stem", 3, 224, 64, engine.SquareConv(7, 2, 3)},
		{"conv2", 64, 56, 192, engine.SquareConv(3, 1, 1)},
		{"3a-1x1", 192, 28, 64, engine.SquareConv(1, 1, 0)},
		{"3c-3x3", 64, 28, 96, engine.SquareConv(3, 1, 1)},
		{"4e-3x3s2", 192, 14, 256, engine.SquareConv(3, 2, 1)},
		{"5b-3x3", 192, 7, 320, engine.SquareConv(3, 1, 1)},
	} {
		for _, pass := range []string{"forward", "input", "weights"} {
			b.Cases = append(b.Cases, Case{Name: s.name + "-" + pass, start: func(_ context.Context, eng engine.Engine, batch int) (*work, error) {
				d := draw(eng)
				ho, wo := s.spec.OutSize(s.size, s.size)
				x, y := d.tensor(batch, s.in, s.size, s.size), d.tensor(batch, s.out, ho, wo)
				w, shift := d.tensor(s.out, s.in, s.spec.KernelH, s.spec.KernelW), d.tensor(s.out)
				out := &work{images: batch, flops: 2 * float64(batch*s.out*ho*wo) * float64(s.in*s.spec.KernelH*s.spec.KernelW)}
				switch pass {
				case "forward":
					out.run = func() error { return eng.Conv(y, x, w, s.spec, engine.Epilogue{Shift: shift, ReLU: true}) }
				case "input":
					out.run = func() error { return eng.ConvGradInput(x, y, w, s.spec) }
				case "weights":
					out.run = func() error { return eng.ConvGradWeights(w, shift, y, x, s.spec) }
				}
				return out, d.err
			}})
		}
	}
	return b
}

// inTurn runs one after the other.
func inTurn(steps ...func() error) func() error {
	return func() error {
		for _, f := range steps {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}
