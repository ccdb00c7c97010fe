package losses

import (
	"errors"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// ofMatrices lists the losses that are functions of a matrix.
func ofMatrices() (names []string) {
	for _, name := range Names() {
		l, err := New(name, Options{Metric: euclidean, Classes: 3, Dim: 4})
		if _, layered := l.(Layered); err != nil || !layered {
			names = append(names, name)
		}
	}
	return names
}

func TestALossWithLayersIsNotComputedFromAMatrix(t *testing.T) {
	l := mustNew(t, "ibc", Options{Metric: euclidean, Dim: 4})
	if _, err := l.Eval(&Matrix{}, nil); !errors.Is(err, ErrLayered) {
		t.Errorf("got %v", err)
	}
	infos, err := List(euclidean, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Layered != (info.Name == "ibc" || info.Name == "avsl") {
			t.Errorf("%s: layered is %v", info.Name, info.Layered)
		}
	}
}

// The zero value is what New makes.
func TestZeroValuesOfLayeredLossesAreTheAuthors(t *testing.T) {
	made := mustNew(t, "ibc", Options{Metric: euclidean, Dim: 4}).(*IBC)
	if zero := (&IBC{}).settled(); zero != *made {
		t.Errorf("the zero value is %+v, New gives %+v", zero, *made)
	}
	avsl := mustNew(t, "avsl", Options{Metric: euclidean}).(*AVSL)
	if *avsl != (AVSL{Alpha: 16, PosMargin: 1.8, NegMargin: 2.2, Lowest: .5, Inner: 1, Highest: .5}) {
		t.Errorf("New gives %+v", *avsl)
	}
	if own := (&IBC{Smoothing: .3}).settled(); own != (IBC{Layers: 1, Heads: 2, Temperature: .2, Smoothing: .3}) {
		t.Errorf("got %+v", own)
	}
}

// What cannot be built says why.
func TestLayersThatCannotBeBuiltAreNamed(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	for want, c := range map[string]struct {
		l   Loss
		o   OpOptions
		dim int
	}{
		"3 heads do not divide rows of 4 numbers": {&IBC{Heads: 3}, OpOptions{Classes: 3}, 4},
		"Smoothing 1":           {&IBC{Smoothing: 1}, OpOptions{Classes: 3}, 4},
		"-1 layers":             {&IBC{Layers: -1}, OpOptions{Classes: 3}, 4},
		"0 classes":             {&IBC{}, OpOptions{}, 4},
		"end in no matrix":      {noLayers{}, OpOptions{Classes: 3}, 4},
		"give (6, 4), want":     {wrongLayers{}, OpOptions{Classes: 3}, 4},
		"a fixed one":           {&IBC{}, OpOptions{Classes: 3, Metric: brm, LogScale: new(layers.Node)}, 4},
		"for losses on pairs":   {&IBC{}, OpOptions{Classes: 3, Memory: MemoryOptions{Size: 12}}, 4},
		"this one has none":     {&AVSL{}, OpOptions{Classes: 3}, 4},
		"rows of 4 numbers are": {&AVSL{}, OpOptions{Classes: 3, Levels: &Levels{N: 3}}, 4},
		"rate of dropout is -1": {&IBC{Dropout: -1}, OpOptions{Classes: 3}, 4},
	} {
		eng, err := cpu.New(cpu.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		if c.o.Metric == (metric.Metric{}) {
			c.o.Metric = cosine
		}
		if _, err := Op(g, c.l, g.Input("x", 6, c.dim), c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		eng.Close()
	}
	if _, err := New("ibc", Options{Metric: cosine, Dim: 15}); err == nil || !strings.Contains(err.Error(), "2 do not divide rows of 15 numbers") {
		t.Errorf("an odd dimension: %v", err)
	}
}

// noLayers has none, wrongLayers gives the embeddings for a matrix.
type (
	noLayers    struct{}
	wrongLayers struct{}
)

func (noLayers) Columns() Columns                              { return Batch }
func (noLayers) Eval(*Matrix, []float64) (Result, error)       { return Result{}, ErrLayered }
func (noLayers) Build(*layers.Graph, LayerInput) []LayerMatrix { return nil }

func (wrongLayers) Columns() Columns                        { return Batch }
func (wrongLayers) Eval(*Matrix, []float64) (Result, error) { return Result{}, ErrLayered }
func (wrongLayers) Build(_ *layers.Graph, in LayerInput) []LayerMatrix {
	return []LayerMatrix{{Name: "rows", Values: in.X, Loss: &NCA{}}}
}
