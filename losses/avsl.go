package losses

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/layers/links"
	"github.com/vernier-ml/vernier/metric"
)

// AVSL is attributable visual similarity learning (Zhang et al. 2022) with proxies: at each
// level of a model a class has a proxy, and with PA the loss of ProxyAnchor on squared distances
//
//	sum over levels l of w_l PA(D_l) + PA(D)
//
// D_l is that of the level's rows and proxies, all of length 1, D the distance along the links
// of all levels (package layers/links). w is Lowest for the first level, Highest for the last and
// Inner for those between. PA(D) reaches the learned numbers of the links alone: everything else
// in D is a constant for the gradient.
//
// The zero value is the authors' for CUB: Alpha 16, PosMargin 1.8, NegMargin 2.2, Lowest 0.5,
// Inner 1, Highest 0.5.
type AVSL struct {
	Alpha                  float64
	PosMargin, NegMargin   float64
	Lowest, Inner, Highest float64
}

// Columns is Classes.
func (*AVSL) Columns() Columns { return Classes }

// Eval is ErrLayered.
func (*AVSL) Eval(*Matrix, []float64) (Result, error) {
	return Result{}, fmt.Errorf("losses: avsl: %w", ErrLayered)
}

// NeedsLevels reports whether a loss is for models with levels.
func NeedsLevels(l Loss) bool {
	_, ok := l.(*AVSL)
	return ok
}

// Build implements Layered.
func (l *AVSL) Build(g *layers.Graph, in LayerInput) []LayerMatrix {
	own := *l
	if own == (AVSL{}) {
		own = AVSL{Alpha: 16, PosMargin: 1.8, NegMargin: 2.2, Lowest: .5, Inner: 1, Highest: .5}
	}
	levels := in.Levels
	if levels == nil || levels.N < 2 {
		g.Fail("losses: avsl", errors.New("it compares the levels of a model, and this one has none"))
		return nil
	}
	width := in.X.Shape()[1]
	if width%(2*levels.N) != 0 {
		g.Fail("losses: avsl", fmt.Errorf("rows of %d numbers are not embeddings and certainties of %d levels", width, levels.N))
		return nil
	}
	h := width / (2 * levels.N)
	part := func(what string, i int) *layers.Node {
		return g.HostOp(fmt.Sprintf("%s %d", what, i%levels.N+1), links.Columns{From: i * h, N: h}, in.X)
	}
	var rows, certainties, proxies []*layers.Node
	var list []LayerMatrix
	anchor := func(name string, d *layers.Node, weight float64) {
		list = append(list, LayerMatrix{Name: name, Values: d, Loss: &ProxyAnchor{Alpha: own.Alpha, PosMargin: own.PosMargin, NegMargin: own.NegMargin}, Weight: weight})
	}
	for i := range levels.N {
		x := part("rows of level", i)
		p := g.Param(fmt.Sprintf("%sproxies%d", in.Prefix, i+1), layers.Proxy, layers.HeNormal(h), in.Classes, h)
		p = g.RowNorm(fmt.Sprintf("proxies of level %d", i+1), p, links.Unit())
		rows, proxies, certainties = append(rows, x), append(proxies, p), append(certainties, part("certainties of level", levels.N+i))
		weight := own.Inner
		switch i {
		case 0:
			weight = own.Lowest
		case levels.N - 1:
			weight = own.Highest
		}
		if weight > 0 {
			anchor(fmt.Sprintf("level%d", i+1), g.Pairwise(fmt.Sprintf("level %d sqeuclidean", i+1), x, p, metric.Metric{Kind: metric.SquaredEuclidean}), weight)
		}
	}
	all := append(append(rows, certainties...), proxies...)
	all = append(append(append(all, levels.Links...), levels.A...), levels.B...)
	anchor("links", g.HostOp("distance along links", links.Final{Levels: levels.N, Keep: levels.Keep, Gamma: levels.Gamma}, all...), 1)
	return list
}

func avslEntry(Options) entry {
	return entry{
		meaning: "proxies at several levels of the network and a distance along the links between these (attributable similarity)",
		source:  "Zhang et al. 2022",
		columns: Classes,
		layered: true,
		settings: []setting{
			positive("alpha", "how much the hardest rows outweigh the others", 16),
			positive("pos-margin", "squared distance to the own class beyond which rows are drawn most", 1.8),
			positive("neg-margin", "squared distance to another class below which rows are pushed most", 2.2),
			between("lowest", "weight of the lowest level's loss", 0.5, 0, 1000, true, false),
			between("inner", "weight of the loss of each level between", 1, 0, 1000, true, false),
			between("highest", "weight of the highest level's loss", 0.5, 0, 1000, true, false),
		},
		build: func(v values) (Loss, error) {
			return &AVSL{
				Alpha: v.real("alpha"), PosMargin: v.real("pos-margin"), NegMargin: v.real("neg-margin"),
				Lowest: v.real("lowest"), Inner: v.real("inner"), Highest: v.real("highest"),
			}, nil
		},
	}
}
