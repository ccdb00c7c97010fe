package train

import (
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/data"
)

// onHost takes steps on an engine that has finished its work when a call returns: a
// step is checked and logged before it ends.
type onHost struct{ *stepper }

func (s onHost) step(batch *data.Batch, _ func() *data.Batch) error {
	start, number := time.Now(), s.opti.Steps()+1
	loss, err := s.net.run(batch)
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if err := s.checkLoss(number, batch, loss); err != nil {
		return err
	}
	p, err := s.move(start)
	if err != nil {
		return err
	}
	p.record.Loss = loss
	if err := s.checkGradient(p, batch); err != nil {
		return err
	}
	if err := s.remember(p); err != nil {
		return err
	}
	return s.write(p.record, batch)
}

func (s onHost) conclude() error { return nil }
