package run

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/losses"
)

// NoLabels, as DataConfig.Labels, trains without labels: each image is a class of its own,
// and a batch has several views of each of its images.
const NoLabels = "none"

// What a run without labels has where nothing else is given.
const (
	defaultViews = 2
	maxViews     = 64
	// imagesPerBatch is larger than the number of classes in a batch with labels: each
	// image has all others of the batch as its negatives.
	imagesPerBatch = 64
	// heldOut is the share of the images of a set without classes that is measured on.
	heldOut = 0.1
)

// Unlabeled reports whether the run trains without labels.
func (c Config) Unlabeled() bool { return c.Data.Labels == NoLabels }

// withoutLabels gives a configuration the defaults of training without labels.
func (c *Config) withoutLabels() {
	c.ClassesPerBatch, c.Data.Augment = imagesPerBatch, transform.SimCLR
	if c.Data.Spec == "glyphs" {
		c.Data.Augment = transform.Strokes
	}
}

// completeViews fills in how many views a batch has of an image.
func (c *Config) completeViews() {
	if !c.Unlabeled() {
		return
	}
	if c.Data.Views == 0 {
		c.Data.Views = defaultViews
	}
	c.ImagesPerClass = c.Data.Views
}

// checkViews refuses a number of images of a class that was given for training without
// labels, where it is not the number of views.
func (s *Settings) checkViews(c Config) error {
	if !c.Unlabeled() {
		return nil
	}
	const place = "images_per_class"
	for _, l := range s.layers {
		n := c.ImagesPerClass
		if err := l.read(place, &n); err != nil {
			return err
		}
		if n != c.ImagesPerClass {
			return fmt.Errorf("%s: %w", l[place].source, setting.Errorf("without labels each image is a class of its own, and %s says how many views of it a batch has, %d: leave out %s", setting.Name("data.views"), c.Data.Views, setting.Name(place)))
		}
	}
	return nil
}

// validateLabels checks what training without labels goes with.
func (c Config) validateLabels() error {
	if c.Data.Labels != "" && !c.Unlabeled() {
		return AtSetting("data.labels", fmt.Errorf("data.labels is %q, want %q for training without labels, or nothing for the set's classes", c.Data.Labels, NoLabels))
	}
	if !c.Unlabeled() {
		if c.Data.Views != 0 {
			return AtSetting("data.views", setting.Errorf("views of each image are of training without labels: %s %s is missing", setting.Name("data.labels"), NoLabels))
		}
		return nil
	}
	switch {
	case c.Data.Views < 2:
		return AtSetting("data.views", fmt.Errorf("%d view of each image: at least 2 are needed, which the loss brings together", c.Data.Views))
	case c.Sampler == data.SamplerBalanced && c.ImagesPerClass != c.Data.Views:
		return AtSetting("data.views", fmt.Errorf("a batch has %d views of each image, and %d images of each class, which without labels are the same: want one number", c.Data.Views, c.ImagesPerClass))
	case c.Sampler == data.SamplerRandom:
		return AtSetting("sampler", setting.Errorf("batches of the sampler %s have one view of an image, and training without labels needs %d: %s %s makes them", data.SamplerRandom, c.Data.Views, setting.Name("sampler"), data.SamplerBalanced))
	case c.Model.Dropout > 0: // which makes views differ
	case c.TakesRows():
		return AtSetting("data.labels", setting.Errorf("training without labels compares views of a row, and backbone %s varies none: dropout makes them differ, such as %s 0.3", c.Model.Backbone, setting.Name("model.dropout")))
	case c.Data.Augment == transform.NoAugmentation:
		return AtSetting("data.augment", setting.Errorf("without augmentation the views of an image are the same picture, and there is nothing to learn without labels: choose one with %s, such as %s, or let %s make them differ", setting.Name("data.augment"), strings.Join(transform.ViewNames(), ", "), setting.Name("model.dropout")))
	}
	return nil
}

// checkInstances refuses a loss with rows for classes, of which there would be one for
// every image.
func (c Config) checkInstances(loss losses.Loss, terms []losses.Term) error {
	if !c.Unlabeled() {
		return nil
	}
	refuse := func(place, what, name string) error {
		return AtSetting(place, fmt.Errorf("%s %s has a row for each class, and without labels every image is a class of its own, seen once an epoch: choose one on pairs, such as %s", what, name, strings.Join(pairLosses(), ", ")))
	}
	if loss.Columns() == losses.Classes {
		return refuse("loss.name", "loss", c.Loss.Name)
	}
	for _, t := range terms {
		if t.Loss != nil && t.Loss.Columns() == losses.Classes {
			return refuse("loss.terms", "term", t.Name)
		}
	}
	return nil
}

// pairLosses are some of the losses that compare a batch with itself.
func pairLosses() []string {
	return slices.DeleteFunc([]string{"ntxent", "supcon", "npairs", "multi-similarity", "contrastive"}, func(name string) bool { return !slices.Contains(losses.Names(), name) })
}

// divideImages divides a set without classes: all images but a part that is held out are
// trained on. Of these views are measured, each of which is to find the others of its
// image.
func (s Sets) divideImages(cfg Config, split data.SplitSpec) (_ Sets, err error) {
	switch d := cfg.Data; {
	case d.Corrupt != (CorruptConfig{}):
		return s, AtSetting("data.corrupt", fmt.Errorf("%s has no classes: damage is done to images of training or of test classes", d.Spec))
	case d.Folds > 0:
		return s, AtSetting("data.folds", fmt.Errorf("%s has no classes of which folds could be made", d.Spec))
	case d.CacheFrozen != "":
		return s, AtSetting("data.cache_frozen", fmt.Errorf("%s has no classes, so that views of images are measured, of which there are no stored outputs of frozen blocks", d.Spec))
	}
	images := s.All.Instances()
	if split.Kind == data.AutoSplit {
		s.Train, s.Test, err = data.HoldOut(images, heldOut, cfg.Seed, cfg.Pairs.marked(s.All))
	} else {
		s.Train, s.Test, err = data.Split(images, split)
	}
	if err != nil {
		return s, AtSetting("data.train_classes", err)
	}
	vary, _, err := cfg.Pipelines()
	if err != nil {
		return s, err
	}
	s.Test = data.Views(s.Test, max(cfg.Data.Views, defaultViews), cfg.Seed, func(m *pixels.RGB, view int, r *rand.Rand) (*pixels.RGB, error) {
		return vary.View(view).Image(m, r)
	})
	return s, nil
}

// withoutClasses reports whether the images have no classes that could be split.
func (s Sets) withoutClasses(cfg Config) bool {
	return cfg.Unlabeled() && (s.All.Unlabeled || len(s.All.Classes) == 1)
}
