package run

import (
	"fmt"
	"math"
	"reflect"

	"github.com/vernier-ml/vernier/losses"
)

// Upper bounds of settings, far above what a run has a use for. They keep sums and
// products of settings within an int, and what settings make room for within what a
// machine may have.
const (
	maxEpochs = 1_000_000
	maxSteps  = 1_000_000_000
	// MaxBatch is the largest number of images in a batch.
	MaxBatch = 65536
	// MaxSide is the largest shorter side that pictures are brought to.
	MaxSide = 16384
	// MaxPixels is the largest limit of the pixels of a picture.
	MaxPixels = 1 << 32
	// MaxRestarts is the largest number of runs of k-means.
	MaxRestarts = 10_000
	maxFolds    = 1000
)

// upperBounds holds the largest value of every setting that is a whole number, by
// its place, but for seeds.
func upperBounds() map[string]int64 {
	return map[string]int64{
		"warmup_epochs": maxEpochs, "epochs": maxEpochs, "steps": maxSteps,
		"classes_per_batch": MaxBatch, "images_per_class": MaxBatch, "batch_size": MaxBatch, "micro_batch": MaxBatch,
		"data.views": maxViews, "pairs.per_batch": MaxBatch / 2, "data.folds": maxFolds, "data.fold": maxFolds, "data.max_bad": maxSteps, "data.max_pixels": MaxPixels, "data.shorter": MaxSide,
		"model.input.size": 4096, "model.input.resize": MaxSide, "model.input.crops": 10, "model.dim": 65536, "model.lora.rank": 4096, "model.levels.keep": 65536,
		"loss.memory": losses.MaxMemory, "loss.memory_start": maxSteps,
		"schedule.warmup": maxSteps, "schedule.every": maxSteps, "schedule.milestones": maxSteps,
		"run.keep": maxEpochs, "run.eval_every": maxEpochs,
	}
}

// UpperBound is the largest value of a setting that is a whole number, or a list of them, by
// its place; ok is false of other settings and of seeds.
func UpperBound(place string) (bound int64, ok bool) {
	bound, ok = upperBounds()[place]
	return bound, ok
}

// checkBounds refuses whole numbers above their bounds and numbers that are not
// finite, wherever they were given.
func (c Config) checkBounds() error {
	bounds := upperBounds()
	if err := checkValue(bounds, "", reflect.ValueOf(c)); err != nil {
		return err
	}
	if n := c.Batch(); n > MaxBatch {
		return fmt.Errorf("a batch of %d images, %d classes of %d: must be at most %d", n, c.ClassesPerBatch, c.ImagesPerClass, MaxBatch)
	}
	return nil
}

// checkValue checks the value at a place and what is in it.
func checkValue(bounds map[string]int64, place string, v reflect.Value) error {
	switch {
	case v.Type() == reflect.TypeFor[Duration]():
	case nested(v.Type()):
		for i := range v.NumField() {
			if err := checkValue(bounds, join(place, keyOf(v.Type().Field(i))), v.Field(i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i := range v.Len() {
			if err := checkValue(bounds, place, v.Index(i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return AtSetting(place, fmt.Errorf("%s is %v, must be a finite number", place, x))
		}
	case v.CanInt():
		if bound, ok := bounds[place]; ok && v.Int() > bound {
			return AtSetting(place, fmt.Errorf("%s is %d, must be at most %d", place, v.Int(), bound))
		}
	}
	return nil
}
