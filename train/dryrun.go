package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// Estimate is what a run will take.
type Estimate struct {
	Engine  string     `json:"engine"`
	Trained int        `json:"trained"` // numbers
	Frozen  int        `json:"frozen"`
	Memory  MemoryPlan `json:"memory_bytes"`
	Total   int64      `json:"total_bytes"`
	Room    int64      `json:"room_bytes"` // what the process may take
	// DeviceTotal and DeviceRoom are the same of a device's own memory.
	DeviceTotal int64 `json:"device_total_bytes,omitempty"`
	DeviceRoom  int64 `json:"device_room_bytes,omitempty"`
	// Measured on Samples steps of real batches, after one that does not count.
	Samples     int     `json:"samples"`
	StepSeconds float64 `json:"step_seconds"`
	Batch       int     `json:"batch"`
	ImgS        float64 `json:"img_s"`
	// EmbedSeconds is the time of embedding one image.
	EmbedSeconds float64 `json:"embed_seconds"`
	Embedded     int     `json:"embedded_images"` // in validations
	StepsAnEpoch int     `json:"steps_an_epoch"`
	Steps        int     `json:"steps"`
	Epochs       int     `json:"epochs"`
	// End is the final measurement, which is part of Hours too.
	End   *EndEstimate `json:"end"`
	Hours float64      `json:"hours"`
	// WarmUp says that the first epochs train the head alone, with less than this.
	WarmUp int `json:"warmup_epochs,omitempty"`
}

// trialSteps are run, of which the first does not count: buffers grow in it.
const trialSteps = 4

// DryRun builds a run without a folder, says what memory it takes, and trains a
// few steps to say how long it will take; nothing is kept. What does not fit is a
// *RoomError or a layers.MemoryError.
func DryRun(ctx context.Context, cfg run.Config, eng engine.Engine, opt Options) (e *Estimate, err error) {
	warmUp := cfg.WarmupEpochs
	cfg.WarmupEpochs = 0 // the larger part of the run is what counts
	s, err := prepare(ctx, cfg, run.Folder(""), eng, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.loadWeights(ctx); err != nil {
		return nil, err
	}
	if err := s.feeder.open(ctx); err != nil {
		return nil, err
	}
	defer collectOften()()
	e = &Estimate{
		Engine: eng.Name(), Batch: s.cfg.Batch(), WarmUp: warmUp,
		StepsAnEpoch: s.sampler.Batches(), Steps: s.steps(), Epochs: s.epochs(),
	}
	e.Trained, e.Frozen = countParams(s.model.Params)
	r := rehearsal{s}
	if err := r.try(ctx, e); err != nil {
		return nil, err
	}
	e.Memory = s.planner().plan()
	e.Total, e.Room = e.Memory.Total(), s.planner().room()
	if d := e.Memory.Device; d != nil {
		e.DeviceTotal = d.Total()
		if e.DeviceRoom, err = s.planner().deviceRoom(); err != nil {
			return nil, err
		}
	}
	if err := s.planner().fits(); err != nil {
		return nil, err
	}
	if s.sets.Validation != nil {
		e.Embedded = e.Epochs * len(s.sets.Validation.Items)
		if s.cfg.EMA > 0 { // both models
			e.Embedded *= 2
		}
	}
	if e.End, err = r.tryEnd(ctx, e.EmbedSeconds); err != nil {
		return nil, err
	}
	e.Hours = (float64(e.Steps)*e.StepSeconds + float64(e.Embedded)*e.EmbedSeconds + e.End.Seconds) / 3600
	return e, nil
}

// rehearsal measures a run on a few of its steps and images.
type rehearsal struct{ *Session }

// try measures a few steps, loading included, and an embedding.
func (s *rehearsal) try(ctx context.Context, e *Estimate) error {
	task := "measuring"
	var start time.Time
	done := 0
	numbers := 0                                 // of a batch
	for epoch := 0; done < trialSteps; epoch++ { // epochs may be shorter
		for batch, err := range s.feeder.trainer.Epoch(ctx, s.sampler, epoch, 0) {
			if err != nil {
				return fmt.Errorf("%s: %w", task, err)
			}
			if err := s.trial(batch); err != nil {
				return err
			}
			numbers = batch.Shape[0] * batch.Shape[1] * batch.Shape[2] * batch.Shape[3]
			batch.Recycle()
			if done++; done == 1 {
				start = time.Now()
			}
			s.ev.Progress(task, done, trialSteps, "")
			if done == trialSteps {
				break
			}
		}
	}
	e.Samples = trialSteps - 1
	e.StepSeconds = time.Since(start).Seconds() / float64(e.Samples)
	e.ImgS = float64(e.Batch) / e.StepSeconds
	embedder, err := s.model.NewEmbedder(e.Batch)
	if err != nil {
		return err
	}
	defer embedder.Close()
	images := make([]float32, numbers*s.model.Spec.Input.Views()) // what is on them does not matter
	if _, err := embedder.Embed(nil, images); err != nil {
		return err
	}
	from := time.Now()
	if _, err := embedder.Embed(nil, images); err != nil {
		return err
	}
	e.EmbedSeconds = time.Since(from).Seconds() / float64(e.Batch)
	return nil
}

// trial is a step of which nothing is written down.
func (s *rehearsal) trial(batch *data.Batch) error {
	if err := s.stepper.net.loss.SetLabels(batch.Labels); err != nil {
		return err
	}
	if err := s.stepper.net.loss.SetItems(batch.Items); err != nil {
		return err
	}
	loss, err := s.stepper.net.run(batch)
	if err != nil {
		return err
	}
	if !finite.Is(loss) {
		return fmt.Errorf("the loss of the first steps is %v", loss)
	}
	step := s.stepper.opti.Steps() + 1
	if _, err := s.stepper.opti.Step(s.cfg.Schedule.At(s.stepper.opti.Steps(), s.steps(), s.sampler.Batches())); err != nil {
		return err
	}
	if err := s.stepper.updateAverage(step); err != nil {
		return err
	}
	if err := s.stepper.updateMomentum(); err != nil {
		return err
	}
	return s.stepper.net.loss.Remember()
}

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
func (s *rehearsal) tryEnd(ctx context.Context, embed float64) (*EndEstimate, error) {
	part := firstClasses(s.sets.Test, endSample)
	e := &EndEstimate{Images: len(s.sets.Test.Items), Classes: len(s.sets.Test.Classes), Sample: len(part.Items), Restarts: s.opt.Restarts}
	if e.Restarts == 0 {
		e.Restarts = defaultRestarts
	}
	from := time.Now()
	s.ev.Progress("measuring the end", 0, 3, "")
	raw, err := run.RawPixels(ctx, part, s.model.Spec.Input, s.cfg.Data.MaxBad, s.opt.run())
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
	by := s.model.Spec.Metric
	if s.model.HasLevels() {
		by = metric.Metric{Kind: metric.SquaredEuclidean} // the distance along links takes longer
	}
	rows, err := s.timeFigures(ctx, widened(raw, s.model.Spec.Dim), by, e.Restarts, share)
	if err != nil {
		return nil, err
	}
	s.ev.Progress("measuring the end", 3, 3, "")
	e.LastSeconds = float64(e.Images)*embed + rows
	e.Seconds = 2*e.LastSeconds + load + pixels
	if s.cfg.EMA > 0 { // of the last epoch, one of the two is not the best
		e.Seconds += e.LastSeconds
	}
	return e, nil
}

// defaultRestarts are those of k-means where nothing else is asked for.
const defaultRestarts = 20

// timeFigures is the time in seconds of all figures of share times as many rows and
// classes as there are in x, with the given number of restarts.
func (s *rehearsal) timeFigures(ctx context.Context, x *eval.Embeddings, m metric.Metric, restarts int, share float64) (float64, error) {
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
