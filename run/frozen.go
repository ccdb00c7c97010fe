package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/model"
)

// FrozenFormats lists the values of DataConfig.CacheFrozen that keep something.
func FrozenFormats() []string { return []string{"fp16", "fp32"} }

// frozenAugmentation is the usual DataConfig.Augment beside CacheFrozen: feature
// maps can be mirrored where the images may be, a transformer's tokens cannot.
func frozenAugmentation(set string, spec model.Spec) string {
	net, err := backbone.New(spec.Backbone)
	if err == nil && net.Tokens() || Default(set).Data.Augment == "characters" {
		return transform.NoAugmentation
	}
	return transform.FlipOnly
}

// validateFrozen checks what is frozen up to where, and what is kept of it.
func (c Config) validateFrozen() error {
	to, keep := c.Freeze.To, c.Data.CacheFrozen
	net, err := backbone.New(c.Model.Backbone)
	if err != nil {
		return err
	}
	if to != "" {
		if _, err := backbone.FindBlock(net, to); err != nil {
			return fmt.Errorf("freezing up to a block: backbone %s: %w", c.Model.Backbone, err)
		}
	}
	allowed := []string{transform.NoAugmentation, transform.FlipOnly}
	if net.Tokens() {
		allowed = allowed[:1]
	}
	switch {
	case keep == "":
		return nil
	case c.Model.Input.Crops > 0:
		return fmt.Errorf("evaluation on %d crops needs pictures, and outputs of the frozen blocks are kept of their middle alone: leave out one of both", c.Model.Input.Crops)
	case !slices.Contains(FrozenFormats(), keep):
		return fmt.Errorf("outputs of the frozen blocks cannot be kept as %q (there is: %s)", keep, strings.Join(FrozenFormats(), ", "))
	case to == "":
		return fmt.Errorf("outputs of the frozen blocks are to be kept, but no block is named up to which the network is frozen (there is: %s)", strings.Join(net.Blocks(), ", "))
	case c.Model.Flow != "":
		return fmt.Errorf("outputs of the frozen blocks cannot be kept beside geometry flow, with which they depend on the batch")
	case c.Model.Flow != "":
		return fmt.Errorf("outputs of the frozen blocks cannot be kept for a model with geometry flow (%s)", c.Model.Flow)
	case !slices.Contains(allowed, c.Data.Augment):
		return fmt.Errorf("pictures cannot be varied (%s) where the outputs of the frozen blocks are kept; augmentation is one of %s", c.Data.Augment, strings.Join(allowed, ", "))
	}
	return nil
}

// frozenBatch is the number of images whose features are computed at once.
const frozenBatch = 32

// Features opens, or makes, the outputs of the frozen blocks for all images of a
// run; nil if they are not kept.
func (c Config) Features(ctx context.Context, all *data.Set, m *model.Model, opt Options) (*data.Features, error) {
	if c.Data.CacheFrozen == "" {
		return nil, nil
	}
	pipeline, err := c.Model.Input.Evaluation()
	if err != nil {
		return nil, err
	}
	sum, err := m.TrunkDigest(c.Freeze.To)
	if err != nil {
		return nil, err
	}
	trunk, err := m.NewTrunk(c.Freeze.To, frozenBatch)
	if err != nil {
		return nil, err
	}
	defer trunk.Close()
	f, err := data.CacheFeatures(ctx, all, pipeline, data.FeatureOptions{
		Dir:   opt.Cache.Dir,
		Of:    fmt.Sprintf("%s to %s, parameters %s, computed by %v", c.Model.Backbone, c.Freeze.To, sum, m.Params.Engine().Info()),
		Shape: trunk.Shape(), Half: c.Data.CacheFrozen == "fp16",
		Batch: frozenBatch, Workers: opt.Workers, Compute: trunk.Embed,
		Progress: func(done, total int) { OrSilent(opt.Events).Progress("caching the frozen blocks", done, total, "") },
		Checking: func(done, total int) {
			OrSilent(opt.Events).Progress("checking the frozen blocks' outputs", done, total, "")
		},
	})
	if err == nil && f.Damaged {
		OrSilent(opt.Events).Warn("%s was damaged: the outputs of the frozen blocks were computed anew", f.Path)
	}
	return f, err
}

// rows embeds the chosen images with a model, through the features if there are any.
func (e *Embedded) rows(ctx context.Context, m *model.Model, task string, opt Options) (*Rows, error) {
	if e.Features != nil {
		if err := m.Enter(e.cfg.Freeze.To); err != nil {
			return nil, err
		}
		defer m.Enter("")
	}
	rows, err := EmbedSet(ctx, m, e.loader, len(e.Set.Items), task, opt)
	if err != nil {
		return nil, err
	}
	return rows, rows.CheckFinite(e.Set)
}

// open makes the loader of the chosen images.
func (e *Embedded) open(opt data.LoaderOptions) (err error) {
	if e.Features != nil {
		e.loader, err = data.NewFeatureLoader(e.Set, e.Features, false, opt)
	} else {
		if have, want := e.Set.Width(), e.Model.Width(); have != want && have > 0 && want > 0 {
			return fmt.Errorf("%s has rows of %d numbers, the model takes %d", e.Set.Name, have, want)
		}
		_, opt.Pixels = e.Model.Params.Engine().(engine.Feeder)
		e.loader, err = data.NewLoader(e.Set, e.pipeline, opt)
	}
	return err
}
