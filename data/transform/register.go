package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

// ownAugmentations holds the augmentations of a program's own.
var ownAugmentations registry.Table[func(r Recipe) ([]Step, error)]

// Register makes an augmentation of a program's own known, as Register does
// a kind of data sets. steps returns the steps of training for a network whose images
// in evaluation r describes; they end with r.Size x r.Size pixels, as after r.Base().
// They draw from the generator that they are given, which depends on the run's seed,
// the epoch and the image, and not on which worker has it.
func Register(name string, steps func(r Recipe) ([]Step, error)) {
	if steps == nil {
		panic(fmt.Sprintf("transform.Register: the function that makes %q is nil", name))
	}
	ownAugmentations.Add("transform.Register", name, steps, builtInAugmentations())
}

// The augmentations of this package that are no presets.
const (
	NoAugmentation = "none" // the steps of evaluation
	FlipOnly       = "flip" // these, and random mirroring
)

func builtInAugmentations() []string {
	return slices.Concat([]string{NoAugmentation, FlipOnly}, PresetNames(), ViewNames())
}

// Names lists what Augmented knows.
func Names() []string { return append(builtInAugmentations(), ownAugmentations.Names()...) }

// Registered lists what Register added.
func Registered() []string { return ownAugmentations.Names() }

// Augmented returns the pipeline of training of an augmentation, one of
// Names, for a network whose images in evaluation r describes.
func (r Recipe) Augmented(name string, norm Normalization) (*Pipeline, error) {
	switch name {
	case NoAugmentation:
		return r.Eval(norm)
	case FlipOnly:
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
	for _, v := range viewRecipes() {
		if v.name == name {
			return v.pipeline(r, norm)
		}
	}
	p, err := Preset(name)
	if err != nil {
		return nil, fmt.Errorf("unknown augmentation %q (there is: %s)", name, strings.Join(Names(), ", "))
	}
	return p.WithSize(r.Size).Train(norm)
}
