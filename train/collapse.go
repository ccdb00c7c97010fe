package train

import (
	"math"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/setting"
)

// What the watch for a collapse goes by.
const (
	collapseEvery  = 20   // steps between two looks, in long epochs
	collapseLeast  = 8    // in short ones: a device is waited for at each look
	collapseLooks  = 5    // in an epoch, at the least where it has the steps for that
	collapseFirst  = 3    // looks in a row that have to agree
	collapseRows   = 256  // of a batch that are looked at, at most
	collapsedShare = 0.02 // of 1/sqrt(h), below which unit rows are one point
	collapsedRank  = 1.5  // below which they lie on a line
	rankClasses    = 4    // in a batch, from which on a line is too little
)

// filling says how the rows of a batch, brought to length 1, fill the sphere.
type filling struct {
	// Deviation is the mean standard deviation of their coordinates, in units of 1/sqrt(h):
	// 1 of rows evenly on the sphere, 0 of one point (Chen and He 2021, Exploring simple
	// siamese representation learning, Sect. 4.1).
	Deviation float64
	// Rank is the effective rank of the rows less their mean, 0 of one point.
	Rank float64
}

// fillingOf looks at x, (rows, h) row-major.
func fillingOf(x []float32, h int) (filling, error) {
	n := len(x) / h
	step := (n + collapseRows - 1) / collapseRows
	e := &eval.Embeddings{H: h}
	mean := make([]float64, h)
	for i := 0; i < n; i += step {
		sum := 0.
		for _, v := range x[i*h : (i+1)*h] {
			sum += float64(v) * float64(v)
		}
		by := 0.
		if sum > 0 {
			by = 1 / math.Sqrt(sum)
		}
		for k, v := range x[i*h : (i+1)*h] {
			mean[k] += by * float64(v)
			e.X = append(e.X, float32(by*float64(v)))
		}
		e.N++
	}
	squares := make([]float64, h)
	for i := range e.N {
		for k, v := range e.Row(i) {
			d := float64(v) - mean[k]/float64(e.N)
			squares[k] += d * d
			e.X[i*h+k] = float32(d)
		}
	}
	var f filling
	for _, v := range squares {
		f.Deviation += math.Sqrt(v/float64(e.N)) / math.Sqrt(float64(h))
	}
	s, err := eval.SpectralDecay(e)
	f.Rank = s.EffectiveRank
	return f, err
}

// collapse is what the watch remembers, as a part of a checkpoint.
type collapse struct {
	Low  int     `json:"low,omitempty"`  // looks in a row that found a collapse
	Last float64 `json:"last,omitempty"` // the deviation at the last of them
}

// look takes in what a batch of a number of classes looks like, and reports whether the
// embeddings have collapsed: several looks in a row say so, and they do not get better.
func (c *collapse) look(f filling, classes int) bool {
	point := f.Deviation < collapsedShare
	line := f.Rank < collapsedRank && classes >= rankClasses
	if !point && !line || c.Low > 0 && f.Deviation > 1.1*c.Last {
		*c = collapse{}
		return false
	}
	c.Low++
	c.Last = f.Deviation
	return c.Low >= collapseFirst
}

// watchCollapse looks at the latest batch, if its turn has come, and warns of a collapse
// while there is time to stop the run. labels are the batch's.
func (s *Session) watchCollapse(batch, batches int, labels []int) error {
	step := s.state.Position.Epoch*s.sampler.Batches() + batch + 1
	if every := max(collapseLeast, min(collapseEvery, batches/collapseLooks)); step%every != 0 || s.cfg.Batch() < 4 {
		return nil
	}
	h := s.model.Spec.Dim
	if h < 2 {
		return nil
	}
	x, err := s.stepper.latest()
	if err != nil {
		return err
	}
	f, err := fillingOf(x, h)
	if err != nil {
		return err
	}
	_, distinct := eval.Compact(labels)
	if !s.state.Health.Collapse.look(f, len(distinct)) {
		return nil
	}
	if f.Deviation < collapsedShare {
		s.teller.once(collapsedKind, s.state.Position.Epoch+1, "the embeddings have collapsed to a point, at step %d: those of a batch, brought to length 1, deviate by %.2g of the 1/sqrt(%d) of rows that fill the sphere, and that does not get better; stop the run, lower %s (now %.3g) or change the loss's margin or temperature", step, f.Deviation, h, setting.Name("optimizer.rate"), s.cfg.Optimizer.Rate)
		return nil
	}
	s.teller.once("the embeddings had collapsed to a line", s.state.Position.Epoch+1, "the embeddings have collapsed to a line, at step %d: those of a batch of %d classes use %.1f of their %d dimensions (effective rank), and that does not get better; stop the run, lower %s (now %.3g), take larger batches, or add a term such as spread-out", step, len(distinct), f.Rank, h, setting.Name("optimizer.rate"), s.cfg.Optimizer.Rate)
	return nil
}

// collapsedKind is the kind of warning that the end of an epoch gives as well.
const collapsedKind = "the embeddings had collapsed"
