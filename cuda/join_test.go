//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
)

// joined is branches that are joined: with and without a ReLU, one whose map is read
// twice, one that is kept, a pooled one. Its output's mean square is the loss.
func joined(t *testing.T, eng engine.Engine) (*layers.Graph, *layers.Params, *layers.Node) {
	t.Helper()
	ps := layers.NewParams(eng, 3)
	g := layers.NewGraph(eng, ps)
	images := g.Input("images", 2, 8, 5, 6)
	g.NeedGrad(images)
	branch := func(name, relu string, x *layers.Node, out int) *layers.Node {
		return g.ConvNormModule(layers.ConvNorm{
			Name: "conv" + name, NormName: "norm" + name, ReLUName: relu, Out: out, Spec: engine.SquareConv(3, 1, 1), Bias: true, Eps: 1e-5, FrozenStats: true,
		}, x, nil)
	}
	twice, kept := branch("3", "relu3", images, 4), branch("4", "relu4", images, 4)
	g.Keep(kept)
	y := g.Concat("join", branch("1", "relu1", images, 8), branch("2", "", images, 5), twice, g.MaxPool("pool", images, engine.SquarePool(3, 1, 1, false)), kept)
	y = g.Concat("join again", y, g.MaxPool("pool again", twice, engine.SquarePool(3, 1, 1, false)))
	loss := g.HostLoss("loss", func(values, grads [][]float64) (float64, error) {
		sum := 0.
		for i, v := range values[0] {
			sum += v * v
			grads[0][i] = 2 * v
		}
		return sum, nil
	}, g.GlobalAvg("mean", y))
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	rng := rand.New(rand.NewPCG(5, 6))
	host := make([]float32, images.Shape().TotalSize())
	for i := range host {
		host[i] = float32(rng.NormFloat64())
	}
	if err := eng.Write(g.Value(images), host); err != nil {
		t.Fatal(err)
	}
	return g, ps, images
}

func TestMapsAreWrittenWhereTheyAreJoined(t *testing.T) {
	ref, refParams, refImages := joined(t, reference.New())
	if err := ref.Run(); err != nil {
		t.Fatal(err)
	}
	want := gradsOf(t, ref, refParams)
	for _, p := range []Precision{FP32, BF16} {
		t.Run(p.String(), func(t *testing.T) {
			eng, dev, _ := newFake(t, Options{Precision: p})
			g, ps, images := joined(t, eng)
			tolerance := 2e-5
			if p == BF16 {
				tolerance = .03
			}
			near := func(name string, got, want []float32) {
				t.Helper()
				largest := 0.
				for _, w := range want {
					largest = max(largest, math.Abs(float64(w)))
				}
				for i, w := range want {
					if math.Abs(float64(got[i]-w)) > tolerance*largest {
						t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], w)
					}
				}
			}
			for range 4 {
				if err := g.Run(); err != nil {
					t.Fatal(err)
				}
				for name, got := range gradsOf(t, g, ps) {
					near(name, got, want[name])
				}
				near("images", read(t, eng, g.Value(g.GradOf(images))), read(t, ref.Engine(), ref.Value(ref.GradOf(refImages))))
			}
			// Seven maps are joined, of which two lie there. The gradients of five inputs take
			// two launches, those of the other two one.
			typ := map[Precision]string{FP32: "f32", BF16: "bf16"}[p]
			if n := dev.Nodes()["copy_rows_"+typ]; n != 5 {
				t.Errorf("%d copies of rows, want 5", n)
			}
			if n := dev.Nodes()["concat_grad_"+typ]; n != 3 {
				t.Errorf("%d launches for the gradients of joined maps, want 3", n)
			}
			if err := g.RunChecked(); err != nil {
				t.Errorf("one by one: %v", err)
			}
		})
	}
}

func TestAPartOfAMapIsForConvolutionsAlone(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	y, x, w := filled(t, eng, 2, 5, 3, 3), filled(t, eng, 2, 3, 3, 3), filled(t, eng, 2, 3, 1, 1)
	part, err := eng.Part(y, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	other, err := eng.Part(y, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	rest := filled(t, eng, 2, 3, 3, 3)
	for want, call := range map[string]func() error{
		"[2 2 3 3] is a part of a map": func() error { return eng.ReLU(part, part) },
		"to which no residual is added": func() error {
			return eng.Conv(part, x, w, engine.SquareConv(1, 1, 0), engine.Epilogue{Residual: filled(t, eng, 2, 2, 3, 3)})
		},
		"a part of another map or of other channels": func() error { return eng.Concat(y, other, rest) },
		"3 channels from channel 3 of y [2 5 3 3]":   func() error { _, err := eng.Part(y, 3, 3); return err },
		"y [4], want shape [-1 -1 -1 -1]":            func() error { _, err := eng.Part(filled(t, eng, 4), 0, 1); return err },
		"x [2 2 3 3] is a part of a map": func() error {
			return eng.Conv(filled(t, eng, 2, 2, 3, 3), part, filled(t, eng, 2, 2, 1, 1), engine.SquareConv(1, 1, 0), engine.Epilogue{})
		},
		"src [2 2 3 3] is a part of a map": func() error { return eng.Read(make([]float32, 36), part) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if fine, err := eng.Finite(part); err != nil || !fine {
		t.Errorf("finite: %v, %v", fine, err)
	}
	nan := float32(math.NaN())
	host := make([]float32, 2*5*9)
	for i := range host {
		host[i] = 1
	}
	host[0] = nan // of channel 0
	if err := eng.Write(y, host); err != nil {
		t.Fatal(err)
	}
	if fine, err := eng.Finite(part); err != nil || !fine {
		t.Errorf("beside a NaN: %v, %v", fine, err)
	}
	host[9] = nan // of channel 1
	if err := eng.Write(y, host); err != nil {
		t.Fatal(err)
	}
	if fine, err := eng.Finite(part); err != nil || fine {
		t.Errorf("with a NaN: %v, %v", fine, err)
	}
}
