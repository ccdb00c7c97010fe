package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
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
	if err := s.loadWeights(); err != nil {
		return nil, err
	}
	if err := s.feed(ctx); err != nil {
		return nil, err
	}
	defer collectOften()()
	e = &Estimate{
		Engine: eng.Name(), Batch: s.cfg.Batch(), WarmUp: warmUp,
		StepsAnEpoch: s.sampler.Batches(), Steps: s.steps(), Epochs: s.epochs(),
	}
	e.Trained, e.Frozen = countParams(s.model.Params)
	if err := s.try(ctx, e); err != nil {
		return nil, err
	}
	e.Memory = s.plan()
	e.Total, e.Room = e.Memory.Total(), s.room()
	if d := e.Memory.Device; d != nil {
		e.DeviceTotal = d.Total()
		if e.DeviceRoom, err = s.deviceRoom(); err != nil {
			return nil, err
		}
	}
	if err := s.fits(); err != nil {
		return nil, err
	}
	if s.sets.Validation != nil {
		e.Embedded = e.Epochs * len(s.sets.Validation.Items)
	}
	if e.End, err = s.tryEnd(ctx, e.EmbedSeconds); err != nil {
		return nil, err
	}
	e.Hours = (float64(e.Steps)*e.StepSeconds + float64(e.Embedded)*e.EmbedSeconds + e.End.Seconds) / 3600
	return e, nil
}

// try measures a few steps, loading included, and an embedding.
func (s *Session) try(ctx context.Context, e *Estimate) error {
	task := "measuring"
	var start time.Time
	done := 0
	numbers := 0                                 // of a batch
	for epoch := 0; done < trialSteps; epoch++ { // epochs may be shorter
		for batch, err := range s.trainer.Epoch(ctx, s.sampler, epoch, 0) {
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
	images := make([]float32, numbers) // what is on them does not matter
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
func (s *Session) trial(batch *data.Batch) error {
	if err := s.net.loss.SetLabels(batch.Labels); err != nil {
		return err
	}
	if err := s.net.loss.SetItems(batch.Items); err != nil {
		return err
	}
	wait, err := s.net.run(batch, nil)
	if err != nil {
		return err
	}
	loss, err := wait()
	if err != nil {
		return err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("the loss of the first steps is %v", loss)
	}
	if _, err := s.opti.Step(s.cfg.Schedule.At(s.opti.Steps(), s.steps(), s.sampler.Batches())); err != nil {
		return err
	}
	return s.net.loss.Remember()
}
