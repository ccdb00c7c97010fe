package train

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/run"
)

// DevicePlan is what a run takes of a device's own memory, in bytes.
type DevicePlan struct {
	Weights     int64 `json:"weights"` // and running statistics
	Optimizer   int64 `json:"optimizer"`
	Activations int64 `json:"activations"` // with all gradients, as planned
	Workspace   int64 `json:"workspace"`   // of the engine
	Batches     int64 `json:"batches"`     // two, as bytes
	Validation  int64 `json:"validation"`
	// End is what all takes in the final measurement.
	End int64 `json:"end"`
}

// Total is the most that is taken at any time.
func (p DevicePlan) Total() int64 { return max(p.Training(), p.End) }

// Training adds up what training takes.
func (p DevicePlan) Training() int64 {
	return p.Weights + p.Optimizer + p.Activations + p.Workspace + p.Batches + p.Validation
}

func (p DevicePlan) String() string {
	return fmt.Sprintf("%d MiB: weights %d, optimizer %d, activations and gradients %d, workspace %d, batches %d, validation %d; the final measurement %d",
		p.Total()>>20, p.Weights>>20, p.Optimizer>>20, p.Activations>>20, p.Workspace>>20, p.Batches>>20, p.Validation>>20, p.End>>20)
}

// device is the engine if it has memory of its own, else nil.
func (s *Session) device() engine.Device {
	d, _ := s.model.Params.Engine().(engine.Device)
	return d
}

// deviceRoom is what the engine may take of its device's memory in all.
func (s *Session) deviceRoom() (int64, error) {
	d := s.device()
	free, _, err := d.Memory()
	if err != nil {
		return 0, fmt.Errorf("the memory of %s: %w", s.model.Params.Engine().Name(), err)
	}
	return free + d.Held(), nil
}

// deviceEnd is endBytes of a device: three networks, the test images as rows, and
// blocks of distances.
func (s *Session) deviceEnd(p DevicePlan) int64 {
	n := int64(len(s.sets.Test.Items))
	return 3*p.Weights + p.Optimizer + p.Workspace + 4*n*s.widest() + min(eval.DefaultMemory, 8*1024*n) + s.model.EmbedderBytes(run.EmbedBatch)
}
