package run

import (
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/model"
)

// TakesRows reports whether the model takes rows of numbers in place of images.
func (c Config) TakesRows() bool {
	net, err := backbone.New(c.Model.Backbone)
	if err != nil {
		return false
	}
	_, rows := backbone.TakesRows(net)
	return rows
}

// FitRows gives the model the length of a set's rows of numbers, and refuses a model of
// images for a set of rows and the other way round.
func (c Config) FitRows(set *data.Set) (Config, error) {
	width := set.Width()
	switch rows := c.TakesRows(); {
	case width > 0 && !rows:
		return c, AtSetting("model.backbone", fmt.Errorf("%s holds rows of %d numbers, and backbone %s takes images: use backbone %s", c.Data.Spec, width, c.Model.Backbone, backbone.FeaturesName))
	case width == 0 && rows:
		return c, AtSetting("model.backbone", fmt.Errorf("%s holds images, and backbone %s takes rows of numbers", c.Data.Spec, c.Model.Backbone))
	case width == 0:
		return c, nil
	}
	spec, err := backbone.WithWidth(c.Model.Backbone, width)
	if err != nil {
		return c, AtSetting("model.backbone", fmt.Errorf("%s: %w", c.Data.Spec, err))
	}
	c.Model.Backbone = spec
	if c.Model.Head == model.HeadNone {
		c.Model.Dim = width
	}
	return c, nil
}

// rowBatch is the number of rows of numbers that are embedded at once.
const rowBatch = 1024

// EmbedBatchOf is the number of images, or of rows of numbers, that a model embeds at
// once.
func EmbedBatchOf(m *model.Model) int {
	if m.Width() > 0 {
		return rowBatch
	}
	return EmbedBatch
}

// What the figures without any network are called.
const (
	rawPixels   = "raw pixels"
	rawFeatures = "raw features"
)

// RawName says what RawPixels are of: pixels, or the features that a head was trained on.
func (r *Results) RawName() string {
	if r.Rows {
		return rawFeatures
	}
	return rawPixels
}
