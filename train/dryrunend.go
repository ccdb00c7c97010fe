package train

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// EndEstimate is what the final measurement will take: the test images embedded by
// the trained and by the untrained network and as raw pixels, and the figures of
// each, most of all those of k-means.
type EndEstimate struct {
	Images   int     `json:"images"`
	Classes  int     `json:"classes"`
	Restarts int     `json:"restarts"` // of k-means, of each of the three
	Sample   int     `json:"sample"`   // images on which it was measured
	Seconds  float64 `json:"seconds"`
	// LastSeconds come on top where the last epoch is not the best, for its figures.
	LastSeconds float64 `json:"last_seconds"`
}

// endSample is how many images the figures of a dry run are computed of.
const endSample = 2000

// tryEnd computes the figures of some test classes, of their raw pixels and of rows
// as wide as the embedding that are made of these, and from that says how long all
// will take: retrieval grows with images times images, k-means with images times
// classes.
// embed is the time of an image.
func (s *Session) tryEnd(ctx context.Context, embed float64) (*EndEstimate, error) {
	part := firstClasses(s.sets.Test, endSample)
	e := &EndEstimate{Images: len(s.sets.Test.Items), Classes: len(s.sets.Test.Classes), Sample: len(part.Items), Restarts: s.opt.Restarts}
	if e.Restarts == 0 {
		e.Restarts = defaultRestarts
	}
	from := time.Now()
	s.ev.Progress("measuring the end", 0, 3, "")
	raw, err := run.RawPixels(ctx, part, s.model.Spec.Input, data.LoaderOptions{Workers: s.opt.Workers, MaxBad: s.cfg.Data.MaxBad})
	if err != nil {
		return nil, err
	}
	if raw.N == 0 {
		return nil, fmt.Errorf("%s: none of %d test images can be read", s.cfg.Data.Spec, len(part.Items))
	}
	share := float64(e.Images) / float64(raw.N)
	load := time.Since(from).Seconds() * share
	s.ev.Progress("measuring the end", 1, 3, "")
	pixels, err := s.timeFigures(ctx, raw, metric.Metric{Kind: metric.Cosine}, e.Restarts, share)
	if err != nil {
		return nil, err
	}
	s.ev.Progress("measuring the end", 2, 3, "")
	rows, err := s.timeFigures(ctx, widened(raw, s.model.Spec.Dim), s.model.Spec.Metric, e.Restarts, share)
	if err != nil {
		return nil, err
	}
	s.ev.Progress("measuring the end", 3, 3, "")
	e.LastSeconds = float64(e.Images)*embed + rows
	e.Seconds = 2*e.LastSeconds + load + pixels
	return e, nil
}

// defaultRestarts are those of k-means where nothing else is asked for.
const defaultRestarts = 20

// timeFigures is the time in seconds of all figures of share times as many rows and
// classes as there are in x, with so many restarts.
func (s *Session) timeFigures(ctx context.Context, x *eval.Embeddings, m metric.Metric, restarts int, share float64) (float64, error) {
	eng := s.model.Params.Engine()
	from := time.Now()
	retrieved := from
	_, err := eval.Evaluate(ctx, eng, x, m, eval.Options{Restarts: -1, Seed: s.cfg.Seed, Workers: s.opt.Workers, Progress: func(stage string, done, _ int) {
		if stage == "geometry" && done == 0 {
			retrieved = time.Now()
		}
	}})
	if err != nil {
		return 0, err
	}
	seconds := share*share*retrieved.Sub(from).Seconds() + share*time.Since(retrieved).Seconds()
	const tried = 2
	from = time.Now()
	if _, err := eval.Cluster(ctx, eng, x, m, eval.KMeansOptions{Restarts: tried, Seed: s.cfg.Seed, Workers: s.opt.Workers}); err != nil {
		return 0, err
	}
	return seconds + share*share*time.Since(from).Seconds()*float64(restarts)/tried, nil
}

// firstClasses selects whole classes, two at least, until there are enough images;
// those of a single image, which has nothing to be retrieved, come last.
func firstClasses(set *data.Set, enough int) *data.Set {
	classes := set.ByClass()
	slices.SortStableFunc(classes, func(a, b []int) int { return min(len(b), 2) - min(len(a), 2) })
	var items []int
	for c, of := range classes {
		if c >= 2 && len(items) >= enough {
			break
		}
		items = append(items, of...)
	}
	return set.Select(set.Name, items)
}

// widened returns rows of h numbers, those of x again and again.
func widened(x *eval.Embeddings, h int) *eval.Embeddings {
	w := &eval.Embeddings{X: make([]float32, x.N*h), N: x.N, H: h, Labels: x.Labels}
	for i := range x.N {
		for row, from := w.X[i*h:(i+1)*h], x.Row(i); len(row) > 0; {
			row = row[copy(row, from):]
		}
	}
	return w
}

// endBytes is what a run takes at its end: the network that is measured and the
// untrained one, all test images as rows (those of the model, those that are measured,
// which grow, and once more laid out for distances), blocks of distances, the pairs
// whose distances are drawn, and pictures.
func (s *Session) endBytes(p MemoryPlan) int64 {
	n := int64(len(s.sets.Test.Items))
	widest := s.widest()
	rows := 4 * n * (int64(s.model.Spec.Dim) + 4*widest)
	blocks := min(eval.DefaultMemory, 8*1024*n)
	heap := 3*p.Weights + p.Optimizer + p.Workspace + p.Pictures + rows + blocks + endFixed
	if p.Device == nil {
		heap += s.model.EmbedderBytes(run.EmbedBatch)
	}
	return p.Program + heap + gcPercent*heap/100
}

// widest is the number of columns of the widest rows that are measured.
func (s *Session) widest() int64 {
	widest := int64(s.model.Spec.Dim)
	if !s.opt.ModelOnly {
		side := int64(min(s.model.Spec.Input.Size, run.RawSide))
		widest = max(widest, 3*side*side)
	}
	return widest
}

// endFixed is what 400,000 pairs with their curves take, and a picture.
const endFixed = 32 << 20
