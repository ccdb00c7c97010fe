package run

import (
	"fmt"

	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
)

// validateMomentum checks what a momentum encoder goes with.
func (c Config) validateMomentum() error {
	m := c.MomentumEncoder
	if m == 0 {
		return nil
	}
	const some = 2 // classes, of which the number is not known yet
	loss, err := c.NewLoss(some)
	switch {
	case err != nil:
		return err
	case !(m > 0 && m < 1):
		err = fmt.Errorf("the momentum of the encoder that follows the network is %v, must be from 0, for none, to less than 1; 0.99 to 0.999 are usual", m)
	case loss.Columns() == losses.Classes:
		err = fmt.Errorf("loss %s compares with classes: a momentum encoder makes what losses on pairs compare with", c.Loss.Name)
	case c.Model.Flow != "":
		err = fmt.Errorf("geometry flow mixes the images of a batch, and a momentum encoder embeds each for itself")
	case c.Model.Scaling != model.ScaleFixed:
		err = fmt.Errorf("scaling %q changes the length of embeddings, which those of a momentum encoder would not follow", c.Model.Scaling)
	}
	return AtSetting("momentum_encoder", err)
}
