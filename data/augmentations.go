package data

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

// ownAugmentations holds the augmentations of a program's own.
var ownAugmentations registry.Table[func(r Recipe) ([]Transform, error)]

// RegisterAugmentation makes an augmentation of a program's own known, as Register does
// a kind of data sets. steps returns the steps of training for a network whose images
// in evaluation r describes; they end with r.Size x r.Size pixels, as after r.Base().
// They draw from the generator that they are given, which depends on the run's seed,
// the epoch and the image, and not on which worker has it.
func RegisterAugmentation(name string, steps func(r Recipe) ([]Transform, error)) {
	if steps == nil {
		panic(fmt.Sprintf("data.RegisterAugmentation: the function that makes %q is nil", name))
	}
	ownAugmentations.Add("data.RegisterAugmentation", name, steps, builtInAugmentations())
}

// The augmentations of this package that are no presets.
const (
	AugmentNone = "none" // the steps of evaluation
	AugmentFlip = "flip" // these, and random mirroring
)

func builtInAugmentations() []string {
	return append([]string{AugmentNone, AugmentFlip}, PresetNames()...)
}

// AugmentationNames lists what Augmented knows.
func AugmentationNames() []string { return append(builtInAugmentations(), ownAugmentations.Names()...) }

// RegisteredAugmentations lists what RegisterAugmentation added.
func RegisteredAugmentations() []string { return ownAugmentations.Names() }

// Augmented returns the pipeline of training of an augmentation, one of
// AugmentationNames, for a network whose images in evaluation r describes.
func (r Recipe) Augmented(name string, norm Normalization) (*Pipeline, error) {
	switch name {
	case AugmentNone:
		return r.Eval(norm)
	case AugmentFlip:
		r.Flip = true
		return r.Train(norm)
	}
	if own, ok := ownAugmentations.Get(name); ok {
		steps, err := own(r)
		if err != nil {
			return nil, fmt.Errorf("augmentation %s: %w", name, err)
		}
		p, err := NewPipeline(r.Size, r.Size, norm, steps...)
		if err != nil {
			return nil, fmt.Errorf("augmentation %s: %w", name, err)
		}
		return p, nil
	}
	p, err := Preset(name)
	if err != nil {
		return nil, fmt.Errorf("unknown augmentation %q (there is: %s)", name, strings.Join(AugmentationNames(), ", "))
	}
	return p.WithSize(r.Size).Train(norm)
}
