package run

import (
	"errors"
	"fmt"
	"image"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
)

// CorruptConfig says how images are damaged on purpose, for experiments about
// outliers.
type CorruptConfig struct {
	// Train is done to the images of the training classes, those for validation
	// among them, Test to those of the test classes.
	Train data.Corruption `json:"train,omitempty,omitzero"`
	Test  data.Corruption `json:"test,omitempty,omitzero"`
	// Seed draws what is damaged; 0 means the seed of the run.
	Seed uint64 `json:"seed,omitempty"`
}

func (c CorruptConfig) validate() error {
	if err := c.Train.Validate(); err != nil {
		return fmt.Errorf("training images: %w", err)
	}
	if err := c.Test.Validate(); err != nil {
		return fmt.Errorf("test images: %w", err)
	}
	if c.Test.Labels > 0 {
		return errors.New("test images: their labels are what is measured by and cannot be wrong")
	}
	return nil
}

// corruptSeed draws what is damaged.
func (c Config) corruptSeed() uint64 {
	if c.Data.Corrupt.Seed != 0 {
		return c.Data.Corrupt.Seed
	}
	return c.Seed
}

// corruptSide is the shorter side at which images are damaged: what the network
// or the augmentation wants at least.
func (c Config) corruptSide() int {
	side := max(c.Model.Input.Size, c.Model.Input.Resize)
	if r, err := transform.Preset(c.Data.Augment); err == nil {
		side = max(side, r.WithSize(c.Model.Input.Size).Shrink)
	}
	return side
}

// picture tells the images of a set apart.
type picture struct {
	path string
	box  image.Rectangle
}

// corrupt damages the images of a set, of which some are for testing.
func (c Config) corrupt(all, test *data.Set) (*data.Set, error) {
	how := c.Data.Corrupt
	if how.Train.Impulse == 0 && how.Train.Occlusion == 0 && how.Test == (data.Corruption{}) {
		return all, nil
	}
	tested := make(map[picture]bool, len(test.Items))
	for _, it := range test.Items {
		tested[picture{it.Path, it.Box}] = true
	}
	set, err := data.Corrupted(all, c.corruptSide(), c.corruptSeed(), func(it data.Item) data.Corruption {
		if tested[picture{it.Path, it.Box}] {
			return how.Test
		}
		return how.Train
	})
	if err != nil {
		return nil, err
	}
	set.Name = fmt.Sprintf("%s (corrupted: training %v, test %v)", all.Name, how.Train, how.Test)
	return set, nil
}
