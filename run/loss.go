package run

import (
	"fmt"

	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
)

// LossOptions are what a loss or a term of the run is made with.
func (c Config) LossOptions(classes int, params map[string]string) losses.Options {
	scale := c.Model.Scale
	if c.Model.Scaling != model.ScaleFixed { // the loss follows the scale from 1 on
		scale = 1
	}
	by := c.Model.Metric
	if by.Kind == metric.Links {
		by = metric.Metric{Kind: metric.SquaredEuclidean} // of each level
	}
	return losses.Options{Metric: by, Scale: scale, Classes: classes, Dim: c.Model.ComparedDim(), Params: params}
}

// NewLoss makes the loss for a number of training classes.
func (c Config) NewLoss(classes int) (losses.Loss, error) {
	return losses.New(c.Loss.Name, c.LossOptions(classes, c.Loss.Params))
}

// NewTerms makes what is added to it.
func (c Config) NewTerms(classes int) ([]losses.Term, error) {
	var list []losses.Term
	for i, t := range c.Loss.Terms {
		for _, other := range c.Loss.Terms[:i] {
			if other.Name == t.Name {
				return nil, fmt.Errorf("term %s is given twice", t.Name)
			}
		}
		term, err := losses.MakeTerm(t.Name, c.LossOptions(classes, t.Params))
		if err != nil {
			return nil, err
		}
		list = append(list, term)
	}
	return list, nil
}

// validateLoss checks loss, terms and memory.
func (c Config) validateLoss() error {
	const some = 2 // classes, of which the number is not known yet
	loss, err := c.NewLoss(some)
	if err != nil {
		return err
	}
	terms, err := c.NewTerms(some)
	if err != nil {
		return err
	}
	if err := c.checkInstances(loss, terms); err != nil {
		return err
	}
	if err := c.validateLayered(loss, terms); err != nil {
		return err
	}
	for _, t := range terms {
		if t.OnClassRows() && loss.Columns() != losses.Classes {
			return AtSetting("loss.name", fmt.Errorf("term %s looks at cosines to rows of classes, which loss %s does not have: choose one that does, such as cosface", t.Name, c.Loss.Name))
		}
	}
	if err := c.checkDistanceNormalization(loss, terms); err != nil {
		return err
	}
	if err := c.validateLevels(loss, terms); err != nil {
		return err
	}
	m := c.Loss
	if m.Start != "" && m.Start != "means" && m.Start != "random" {
		return fmt.Errorf("rows of classes start at means or at random, not at %q", m.Start)
	}
	if m.Start == "means" && c.Model.Projection != "" {
		return setting.Errorf("rows of classes lie behind the projection %s, where there are no means of embeddings to start at: leave out %s", c.Model.Projection, setting.Name("loss.start"))
	}
	switch batch := c.Batch(); {
	case m.Memory < 0 || m.MemoryStart < 0:
		return fmt.Errorf("memory of %d embeddings from step %d on: neither can be negative", m.Memory, m.MemoryStart)
	case m.Memory == 0 && m.MemoryStart > 0:
		return fmt.Errorf("a memory that starts at step %d needs a size", m.MemoryStart)
	case m.Memory > 0 && m.Memory < batch:
		return fmt.Errorf("a memory of %d embeddings is smaller than a batch of %d", m.Memory, batch)
	case m.Memory > 0 && loss.Columns() == losses.Classes:
		return fmt.Errorf("loss %s compares with classes: a memory of earlier batches is for losses on pairs", m.Name)
	case m.Memory > 0 && losses.NeedsSquare(loss):
		return fmt.Errorf("loss %s, as it is set, also compares a row's positives with its negatives, which a memory of earlier batches does not hold", m.Name)
	}
	return nil
}

// validateLayered checks what losses with layers of their own cannot have.
func (c Config) validateLayered(loss losses.Loss, terms []losses.Term) error {
	if c.Model.Scaling == model.ScaleFixed {
		return nil
	}
	names := []string{c.Loss.Name}
	all := []losses.Loss{loss}
	for _, t := range terms {
		names, all = append(names, t.Name), append(all, t.Loss)
	}
	for i, l := range all {
		if _, ok := l.(losses.Layered); ok {
			return AtSetting("model.scaling", fmt.Errorf("the layers of loss %s do not see the metric, and so cannot follow a scale of embeddings that changes (%s)", names[i], c.Model.Scaling))
		}
	}
	return nil
}

// checkDistanceNormalization refuses losses on class rows where a batch's embeddings are
// divided by the mean distance between them, which class rows are not.
func (c Config) checkDistanceNormalization(loss losses.Loss, terms []losses.Term) error {
	if c.Model.Normalization != model.NormDistance {
		return nil
	}
	name := c.Loss.Name
	on := loss.Columns() == losses.Classes
	for _, t := range terms {
		if t.Loss != nil && t.Loss.Columns() == losses.Classes {
			name, on = t.Name, true
		}
	}
	if on {
		return setting.Errorf("loss %s compares embeddings with rows of classes, which %s %s leaves where they are: take a loss on pairs, or another normalization", name, setting.Name("model.normalization"), model.NormDistance)
	}
	return nil
}

// validateLevels checks that levels of the model and the loss that compares them go together.
func (c Config) validateLevels(loss losses.Loss, terms []losses.Term) error {
	has := c.Model.Levels != model.Levels{}
	for _, t := range terms {
		if has || t.Loss != nil && losses.NeedsLevels(t.Loss) {
			return AtSetting("loss.terms", fmt.Errorf("term %s: the loss of a model with levels stands alone", t.Name))
		}
	}
	switch {
	case has != losses.NeedsLevels(loss) && has:
		return AtSetting("loss.name", fmt.Errorf("loss %s does not compare the levels of a model: avsl does", c.Loss.Name))
	case has != losses.NeedsLevels(loss):
		return AtSetting("loss.name", setting.Errorf("loss %s compares levels of a model, and this one has none: name their blocks with the setting model.levels.blocks, and the metric links with %s", c.Loss.Name, setting.Name("model.metric")))
	case has && c.MicroBatch > 0 && c.MicroBatch < c.Batch():
		return AtSetting("micro_batch", fmt.Errorf("micro-batches of %d images: the links of a model with levels are of the maps of a whole batch, %d, which one graph has to hold", c.MicroBatch, c.Batch()))
	case has && c.Data.CacheFrozen != "":
		return AtSetting("data.cache_frozen", fmt.Errorf("outputs of the frozen blocks cannot be kept for a model with levels, which needs the maps of earlier blocks too"))
	}
	return nil
}
