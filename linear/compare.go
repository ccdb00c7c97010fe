package linear

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/vernier-ml/vernier/eval"
)

// Trials say how Compare runs. The zero value is the setting of BRM Table 3: 20
// random splits, 80% of the rows train, 5-NN.
type Trials struct {
	Trials int
	Train  float64
	K      int
	// Seed numbers the splits Seed, Seed+1, ...; every learner sees the same.
	Seed   uint64
	Encode EncodeOptions
	// Components is the number of principal components of the training rows that all
	// rows are projected to first, for all learners alike; 0 leaves them as they are.
	Components int
	Noise      Noise
	Engine     Engine
	// Progress, if set, is called after each fit.
	Progress func(trial int, learner string, percent float64)
}

// Candidate is a learner that takes part in a comparison.
type Candidate struct {
	Name string
	Make func(Env) Learner
}

// Candidates looks the names up, see New.
func Candidates(names []string) ([]Candidate, error) {
	out := make([]Candidate, len(names))
	for i, n := range names {
		if _, err := New(n, Env{}); err != nil {
			return nil, err
		}
		out[i] = Candidate{n, constructors[n]}
	}
	return out, nil
}

// Comparison holds the k-NN errors of learners on one table.
type Comparison struct {
	Table   string `json:"table"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"` // encoded
	Classes int    `json:"classes"`
	// Unlabeled rows took no part.
	Unlabeled  int     `json:"unlabelled,omitempty"`
	Trials     int     `json:"trials"`
	TrainShare float64 `json:"train_share"`
	K          int     `json:"k"`
	Components int     `json:"principal_components,omitempty"`
	// Constant columns of the first trial's training rows.
	Constant []string `json:"constant_columns,omitempty"`
	// Duplicates is the mean number of test rows equal to a training row, and
	// Conflicting of those whose label differs.
	Duplicates  float64       `json:"duplicates_across_split"`
	Conflicting float64       `json:"conflicting_duplicates"`
	Results     []TrialErrors `json:"results"`
}

// TrialErrors are the figures of one learner.
type TrialErrors struct {
	Learner string    `json:"learner"`
	Errors  []float64 `json:"errors_percent"` // by trial
	Mean    float64   `json:"mean"`
	Std     float64   `json:"std"` // divisor n-1
	// Seconds to fit, mean over trials, and iterations.
	Seconds    float64 `json:"seconds"`
	Iterations float64 `json:"iterations"`
	// Failed says why the learner could not be run; then there are no figures.
	Failed string   `json:"failed,omitempty"`
	Notes  []string `json:"notes,omitempty"` // of the first trial
}

// Result returns the figures of a learner, nil if it took no part.
func (c *Comparison) Result(learner string) *TrialErrors {
	for i := range c.Results {
		if c.Results[i].Learner == learner {
			return &c.Results[i]
		}
	}
	return nil
}

func (o *Trials) defaults() error {
	if o.Trials == 0 {
		o.Trials = 20
	}
	if o.Train == 0 {
		o.Train = .8
	}
	if o.K == 0 {
		o.K = 5
	}
	if o.Trials < 0 || o.K < 0 || o.Components < 0 {
		return fmt.Errorf("%d trials, %d neighbors, %d components: none may be negative", o.Trials, o.K, o.Components)
	}
	return o.Noise.validate()
}

// Compare measures the k-NN error of learners over random splits of a table.
// Encoding, noise and projection are the same for all of them. A learner that
// fails on this table is reported as such and does not end the comparison.
func Compare(ctx context.Context, t *Table, learners []Candidate, opt Trials) (*Comparison, error) {
	if err := opt.defaults(); err != nil {
		return nil, err
	}
	if len(t.Classes) < 2 {
		return nil, fmt.Errorf("%s: a comparison needs rows of 2 classes or more, and has those of %q", t.Name, t.Classes)
	}
	c := &Comparison{Table: t.Name, Rows: t.Rows(), Classes: len(t.Classes), Trials: opt.Trials, TrainShare: opt.Train, K: opt.K, Components: opt.Components}
	for _, y := range t.Labels {
		if y == Unknown {
			c.Unlabeled++
		}
	}
	for _, l := range learners {
		c.Results = append(c.Results, TrialErrors{Learner: l.Name})
	}
	for k := range opt.Trials {
		trial, err := newTrial(t, opt, opt.Seed+uint64(k))
		if err != nil {
			return nil, fmt.Errorf("%s, trial %d: %w", t.Name, k, err)
		}
		if n := len(trial.trainRows); opt.K > n {
			return nil, fmt.Errorf("%s: k is %d, but only %d rows train", t.Name, opt.K, n)
		}
		if k == 0 {
			c.Constant, c.Columns = trial.encoder.Constant, len(trial.encoder.Names())
		}
		equal, conflicting := Duplicates(t, trial.trainRows, trial.testRows)
		c.Duplicates += float64(equal) / float64(opt.Trials)
		c.Conflicting += float64(conflicting) / float64(opt.Trials)
		for i, l := range learners {
			r := &c.Results[i]
			if r.Failed != "" {
				continue
			}
			err := trial.measure(ctx, l.Make(Env{Seed: opt.Seed + uint64(k), Engine: opt.Engine}), opt, r)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				*r = TrialErrors{Learner: r.Learner, Failed: err.Error(), Mean: math.NaN()}
				continue
			}
			if opt.Progress != nil {
				opt.Progress(k, l.Name, r.Errors[k])
			}
		}
	}
	for i := range c.Results {
		c.Results[i].summarize()
	}
	return c, nil
}

func (r *TrialErrors) summarize() {
	if r.Failed != "" {
		r.Mean = 0
		return
	}
	n := float64(len(r.Errors))
	r.Seconds /= n
	r.Iterations /= n
	r.Mean = stat.Mean(r.Errors, nil)
	if n > 1 {
		r.Std = stat.StdDev(r.Errors, nil)
	}
}

// trial is one split, encoded.
type trial struct {
	encoder             *Encoder
	trainRows, testRows []int
	train, test         *mat.Dense
	labels, truth       []int
	classes             []string
}

func newTrial(t *Table, opt Trials, seed uint64) (*trial, error) {
	s := &trial{classes: t.Classes}
	var err error
	if s.trainRows, s.testRows, err = Split(t.Labels, opt.Train, seed); err != nil {
		return nil, err
	}
	if s.encoder, err = FitEncoder(t, s.trainRows, opt.Encode); err != nil {
		return nil, err
	}
	if s.train, err = s.encoder.Encode(t, s.trainRows); err != nil {
		return nil, err
	}
	if s.test, err = s.encoder.Encode(t, s.testRows); err != nil {
		return nil, err
	}
	rng := newRand(seed, 8)
	opt.Noise.add(s.test, rng)
	if opt.Noise.OnTrain {
		opt.Noise.add(s.train, rng)
	}
	if _, d := s.train.Dims(); opt.Components > 0 && opt.Components < d {
		p, err := Principal(s.train, opt.Components)
		if err != nil {
			return nil, err
		}
		s.train, s.test = transform(s.train, p), transform(s.test, p)
	}
	s.labels, s.truth = pick(t.Labels, s.trainRows), pick(t.Labels, s.testRows)
	return s, nil
}

func pick(labels, rows []int) []int {
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k] = labels[i]
	}
	return out
}

func (s *trial) measure(ctx context.Context, l Learner, opt Trials, into *TrialErrors) error {
	start := time.Now()
	r, err := l.Fit(ctx, &Problem{X: s.train, Labels: s.labels, Classes: s.classes})
	if err != nil {
		return err
	}
	into.Seconds += time.Since(start).Seconds()
	into.Iterations += float64(r.Iterations)
	share, err := KNN{K: opt.K, Engine: opt.Engine}.Error(ctx, r, s.train, s.labels, s.test, s.truth)
	if err != nil {
		return err
	}
	if len(into.Errors) == 0 {
		into.Notes = r.Notes
	}
	into.Errors = append(into.Errors, 100*share)
	return nil
}

// Verify learns a metric with each candidate from the training rows of one split
// and returns its ROC curve on pairs of test rows, the same for all: pairs
// similar and as many dissimilar ones. Of opt the number of trials is not used.
func Verify(ctx context.Context, t *Table, learners []Candidate, pairs int, opt Trials) ([]*eval.ROC, error) {
	if err := opt.defaults(); err != nil {
		return nil, err
	}
	s, err := newTrial(t, opt, opt.Seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	similar, dissimilar, err := SamplePairs(s.truth, pairs, opt.Seed)
	if err != nil {
		return nil, fmt.Errorf("%s, test rows: %w", t.Name, err)
	}
	y := make([]int, 2*pairs)
	for k := range y {
		y[k] = 1
		if k >= pairs {
			y[k] = -1
		}
	}
	all := append(similar, dissimilar...)
	out := make([]*eval.ROC, len(learners))
	for i, l := range learners {
		r, err := l.Make(Env{Seed: opt.Seed, Engine: opt.Engine}).Fit(ctx, &Problem{X: s.train, Labels: s.labels, Classes: s.classes})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if out[i], err = r.ROC(s.test, all, y); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	return out, nil
}
