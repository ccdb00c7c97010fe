package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
)

// The pictures of a run, in its FiguresFolder.
const (
	LossFigure      = "loss.png"
	RecallFigure    = "recall.png"
	DistancesFigure = "distances.png"
	NeighborsFigure = "neighbors.png"
)

// Rows and columns of the grid of neighbors.
const (
	gridRows      = 10
	gridNeighbors = 8
)

// Draw makes the pictures of a finished run: how it went (loss and Recall@1 by
// epoch) and what came of it (distances inside and between classes, BRM Figs. 2
// and 10; queries with their nearest neighbors, BRM Fig. 9).
func (f Folder) Draw(ctx context.Context, eng engine.Engine, e *Embedded, history []EpochRecord) error {
	if err := os.MkdirAll(f.Path(FiguresFolder), 0o755); err != nil {
		return err
	}
	path := func(name string) string { return filepath.Join(f.Path(FiguresFolder), name) }
	m := e.Model.Spec.Metric
	var loss []plot.Point
	curves := plot.Recall{Metric: m.String(), Best: math.NaN()}
	for _, r := range history {
		loss = append(loss, plot.Point{X: float64(r.Epoch), Y: r.Loss})
		if r.Recall1 >= 0 {
			curves.Validation, curves.Best = append(curves.Validation, plot.Point{X: float64(r.Epoch), Y: r.Recall1}), float64(e.Epoch)
		}
		if r.EMA != nil && r.EMA.Recall1 >= 0 {
			curves.Averaged = append(curves.Averaged, plot.Point{X: float64(r.Epoch), Y: r.EMA.Recall1})
		}
		if r.Test != nil {
			curves.Test = append(curves.Test, plot.Point{X: float64(r.Epoch), Y: r.Test.Recall1})
		}
	}
	if err := plot.PNG(path(LossFigure), plot.Loss{Name: e.cfg.Loss.Name, X: "epoch", Points: loss}); err != nil {
		return err
	}
	if len(curves.Validation)+len(curves.Test) > 0 {
		if err := plot.PNG(path(RecallFigure), curves); err != nil {
			return err
		}
	}
	if e.Embeddings.Distances != nil {
		return nil // what follows is of a metric
	}
	sides := e.Sides()
	both, _, groups := sides.Both()
	pairs, err := eval.SamplePairs(both, m, eval.PairOptions{Seed: e.cfg.Seed, Groups: groups})
	if err != nil {
		return err
	}
	const bins = 60
	h, err := pairs.Histogram(bins)
	if err != nil {
		return err
	}
	if err := plot.PNG(path(DistancesFigure), plot.Histogram{Title: "Distances inside and between test classes", Histogram: h}); err != nil {
		return err
	}
	if e.Set.Width() > 0 {
		return nil // rows of numbers have no pictures
	}
	rows, err := e.grid(ctx, eng, sides)
	if err != nil {
		return err
	}
	return plot.Grid(path(NeighborsFigure), fmt.Sprintf("Test queries and their nearest neighbors by %s", m), rows)
}

// grid draws queries at random, one a class as far as there are classes, and
// finds their neighbors.
func (e *Embedded) grid(ctx context.Context, eng engine.Engine, sides Sides) ([]plot.GridRow, error) {
	r := rand.New(rand.NewPCG(e.cfg.Seed, 0x6772_6964))
	var queries []int // rows of sides.Queries
	class, distinct := eval.Compact(sides.Queries.Labels)
	classes := make([][]int, len(distinct))
	for i, c := range class {
		classes[c] = append(classes[c], i)
	}
	for _, c := range r.Perm(len(classes)) {
		if len(queries) == gridRows {
			break
		}
		if items := classes[c]; len(items) > 1 || sides.Gallery != nil {
			queries = append(queries, items[r.IntN(len(items))])
		}
	}
	if len(queries) == 0 {
		return nil, errors.New("no class has two images")
	}
	gallery, opt := sides.Search()
	if opt.Self != nil {
		opt.Self = queries
	}
	if opt.Groups != nil {
		of := make([]int, len(queries))
		for i, q := range queries {
			of[i] = sides.Groups.Queries[q]
		}
		opt.Groups = &eval.Groups{Queries: of, Gallery: sides.Groups.Gallery}
	}
	k := min(gridNeighbors, e.Embeddings.N-1, gallery.N)
	list, err := eval.Neighbors(ctx, eng, sides.Queries.Select(queries), gallery, e.Model.Spec.Metric, k, opt)
	if err != nil {
		return nil, err
	}
	rows := make([]plot.GridRow, len(queries))
	for i, q := range queries {
		if rows[i].Query, err = e.cell(ctx, sides.QueryRows[q], ""); err != nil {
			return nil, err
		}
		index, distance := list.Of(i)
		for j, n := range index {
			c, err := e.cell(ctx, sides.GalleryRows[n], fmt.Sprintf(" %.3f", distance[j]))
			if err != nil {
				return nil, err
			}
			c.Right = gallery.Labels[n] == sides.Queries.Labels[q]
			rows[i].Neighbors = append(rows[i].Neighbors, c)
		}
	}
	return rows, nil
}

// cell shows an item as the network sees it, before its values are scaled.
func (e *Embedded) cell(ctx context.Context, item int, after string) (plot.GridCell, error) {
	picture, err := e.Set.Load(ctx, item)
	if err != nil {
		return plot.GridCell{}, err
	}
	pipeline, err := e.Model.Spec.Input.Single().Evaluation()
	if err != nil {
		return plot.GridCell{}, err
	}
	if picture, err = pipeline.Image(picture, nil); err != nil {
		return plot.GridCell{}, err
	}
	return plot.GridCell{Image: picture, Caption: e.Set.Classes[e.Set.Items[item].Label] + after}, nil
}
