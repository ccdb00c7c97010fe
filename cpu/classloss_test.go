package cpu

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
)

// The tolerance is what docs say of the engine beside the host's float64.
func TestClassLosses(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		enginetest.ClassLosses(t, openEngine(t, variant, 2), enginetest.ClassLossOptions{Rel: 2e-5, Golden: os.DirFS(filepath.Join("..", "losses", "testdata", "golden"))})
	})
}

// The bits of a loss and its derivative follow from the shapes alone.
func TestClassLossesWithAnyNumberOfThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	const rows, columns = 70, 1100
	view := engine.Quadratic{A: 1, C: -2}
	values, of := numbers(rng, rows*columns), make([]float32, rows)
	for i := range of {
		of[i] = float32(rng.IntN(columns))
	}
	eachVariant(t, func(t *testing.T, variant string) {
		var want [2][]float32
		for _, threads := range []int{1, 2, 3, 7} {
			e := openEngine(t, variant, threads)
			d, labels, loss, dd := load(t, e, values, rows, columns), load(t, e, of, rows), put(t, e, rng, 1), put(t, e, rng, rows, columns)
			for i, eval := range []func() error{
				func() error {
					return e.ProxyAnchor(loss, dd, d, labels, engine.ProxyAnchorSpec{Similarity: view, Alpha: 32, PosMargin: .1, NegMargin: -.1})
				},
				func() error {
					return e.ClassSoftmax(loss, dd, d, labels, engine.ClassSoftmaxSpec{Similarity: view, Scale: 16, Margin: .1, Smoothing: .1})
				},
			} {
				must(t, eval())
				got := append(read(t, e, dd), read(t, e, loss)...)
				if threads == 1 {
					want[i] = got
				} else if !slices.Equal(got, want[i]) {
					t.Errorf("loss %d: %d threads give other bits than one", i, threads)
				}
			}
		}
	})
}

func TestClassLossesRefuseWhatDoesNotFit(t *testing.T) {
	e := openEngine(t, "", 1)
	zeros := func(shape ...int) engine.Tensor { return load(t, e, make([]float32, volume(shape)), shape...) }
	d, one, two := zeros(2, 3), zeros(1), zeros(2)
	anchor := func(loss, dd, d, labels engine.Tensor) error {
		return e.ProxyAnchor(loss, dd, d, labels, engine.ProxyAnchorSpec{})
	}
	soft := func(spec engine.ClassSoftmaxSpec, d engine.Tensor) error {
		return e.ClassSoftmax(one, nil, d, two, spec)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{anchor(two, nil, d, zeros(2)), "proxy-anchor: loss (2) does not fit d (2, 3): want (1)"},
		{anchor(one, zeros(3, 2), d, two), "dd (3, 2) does not fit d (2, 3): want (2, 3)"},
		{anchor(one, nil, d, zeros(1)), "labels (1) does not fit d (2, 3): want (2)"},
		{anchor(one, d, d, two), "dd (2, 3) and d (2, 3) share memory"},
		{anchor(one, nil, two, two), "d (2) has 1 dimensions, want 2"},
		{anchor(one, nil, d, load(t, e, []float32{0, 3}, 2)), "labels[1] is 3, want a whole number from 0 to 2"},
		{anchor(one, nil, d, load(t, e, []float32{-1, 0}, 2)), "labels[0] is -1"},
		{anchor(one, nil, d, load(t, e, []float32{0, 1.5}, 2)), "labels[1] is 1.5"},
		{soft(engine.ClassSoftmaxSpec{Angle: 4}, d), "class softmax: an angle of 4, want 0 to pi"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true, Smoothing: .1}, d), "no smoothing"},
		{soft(engine.ClassSoftmaxSpec{OthersOnly: true}, zeros(2, 1)), "2 classes or more"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

// One class has nothing to be told apart from.
func TestASoftmaxOverOneClassIsNothing(t *testing.T) {
	e := openEngine(t, "", 1)
	d, labels, loss, dd := load(t, e, []float32{.3, .9}, 2, 1), load(t, e, []float32{0, 0}, 2), load(t, e, []float32{9}, 1), load(t, e, []float32{9, 9}, 2, 1)
	must(t, e.ClassSoftmax(loss, dd, d, labels, engine.ClassSoftmaxSpec{Similarity: engine.Quadratic{A: 1, B: -1}, Scale: 16, Smoothing: .1}))
	if l, g := read(t, e, loss)[0], read(t, e, dd); l != 0 || g[0] != 0 || g[1] != 0 {
		t.Errorf("loss %v, derivative %v, want 0", l, g)
	}
}

func BenchmarkProxyAnchor(b *testing.B) {
	for _, shape := range [][2]int{{128, 11318}, {1000, 9990}} {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			e := openEngine(b, "", 0)
			of := make([]float32, shape[0])
			for i := range of {
				of[i] = float32(rng.IntN(shape[1]))
			}
			d, labels, loss, dd := put(b, e, rng, shape[0], shape[1]), load(b, e, of, shape[0]), put(b, e, rng, 1), put(b, e, rng, shape[0], shape[1])
			for b.Loop() {
				must(b, e.ProxyAnchor(loss, dd, d, labels, engine.ProxyAnchorSpec{Similarity: engine.Quadratic{B: 1}, Alpha: 32, PosMargin: .1, NegMargin: -.1}))
			}
		})
	}
}
