package run

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

// collection is the making of rows of all readable images of a set, in order, batch by
// batch.
type collection struct {
	loader             *data.Loader
	images, batch, dim int
	task               string
	opt                Options
}

// rows lets embed append the rows of each batch. Each rank takes a share of the images, and
// all get all rows. Ranks stop behind the same number of batches of their own.
func (c collection) rows(ctx context.Context, embed func(dst []float32, batch *data.Batch) ([]float32, error)) (*Rows, error) {
	ranks, within := comm.OrSingle(c.opt.Comm), ctx
	size := ranks.Size()
	if size > 1 {
		within = context.WithoutCancel(ctx)
	}
	first, end := comm.Share(c.images, ranks.Rank(), size)
	e := &Rows{Embeddings: &eval.Embeddings{H: c.dim, X: make([]float32, 0, (end-first)*c.dim)}}
	next, stop := iter.Pull2(c.loader.Range(within, first, end, c.batch))
	defer stop()
	largest := (c.images + size - 1) / size
	for range (largest + c.batch - 1) / c.batch {
		if batch, err, some := next(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.task, err)
		} else if some {
			if e.X, err = embed(e.X, batch); err != nil {
				return nil, err
			}
			e.Labels = append(e.Labels, batch.Labels...)
			e.Items = append(e.Items, batch.Items...)
			batch.Recycle()
			c.progress(len(e.Labels) * c.images / (end - first))
		}
		if err := comm.Stopped(ctx, ranks); err != nil {
			return nil, fmt.Errorf("%s: %w", c.task, err)
		}
	}
	e.N = len(e.Labels)
	if e.N < c.images {
		c.progress(c.images)
	}
	if size == 1 {
		return e, nil
	}
	return e, c.gather(ranks, e)
}

func (c collection) progress(done int) { OrSilent(c.opt.Events).Progress(c.task, done, c.images, "") }

// gather gives every rank the rows of all, and what of the images could not be read.
func (c collection) gather(ranks comm.Comm, e *Rows) error {
	all, err := comm.GatherInts(ranks, append(append([]int{}, e.Labels...), e.Items...))
	if err != nil {
		return err
	}
	e.Labels, e.Items = nil, nil
	for _, x := range all {
		e.Labels, e.Items = append(e.Labels, x[:len(x)/2]...), append(e.Items, x[len(x)/2:]...)
	}
	own := e.X
	e.N = len(e.Items)
	e.X = make([]float32, e.N*e.H)
	if err := ranks.GatherRows(e.X, own); err != nil {
		return err
	}
	return c.gatherBad(ranks)
}

// gatherBad lets every loader know of all images that could not be read.
func (c collection) gatherBad(ranks comm.Comm) error {
	own := map[int]string{}
	items := c.loader.BadItems()
	for k, bad := range c.loader.Bad() {
		own[items[k]] = bad.Reason
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	texts, err := ranks.Gather(text)
	if err != nil {
		return err
	}
	reasons := map[int]string{}
	for _, text := range texts {
		var theirs map[int]string
		if err := json.Unmarshal(text, &theirs); err != nil {
			return err
		}
		maps.Copy(reasons, theirs)
	}
	return c.loader.NoteBad(reasons)
}
