package train

import (
	"context"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
)

// feeder reads images for training and measuring: those of a set, or the outputs of
// the frozen blocks for them.
type feeder struct {
	*setup
	features *data.Features // of the frozen blocks, in place of images; may be nil
	trainer  *data.Loader   // augmented training images
}

// open makes the loader of training images, now that the network has its weights.
func (s *feeder) open(ctx context.Context) error {
	var err error
	if s.features, err = s.cfg.Features(ctx, s.sets.All, s.model, s.opt.run()); err != nil {
		return err
	}
	if f := s.features; f != nil {
		s.ev.Say("outputs of the frozen blocks: %v numbers an image, %d MiB in %s", f.Shape, f.Bytes>>20, f.Path)
	}
	training, _, err := s.cfg.Pipelines()
	if err != nil {
		return err
	}
	if s.trainer, err = s.loaderWith(s.groupedByPairs(), training, s.options(s.cfg.Data.MaxBad, s.share())); err != nil {
		return err
	}
	s.badItems = s.trainer.BadItems
	return nil
}

// loader reads a set's features if there are any, else its images, as pixels for an
// engine that takes these.
func (s *feeder) loader(set *data.Set, p *transform.Pipeline) (*data.Loader, error) {
	return s.loaderOf(set, p, s.cfg.Data.MaxBad)
}

// loaderOf is loader with another number of images that may be unreadable.
func (s *feeder) loaderOf(set *data.Set, p *transform.Pipeline, maxBad int) (*data.Loader, error) {
	return s.loaderWith(set, p, s.options(maxBad, nil))
}

// options are those of a loader; share is of every batch.
func (s *feeder) options(maxBad int, share func(int) (int, int)) data.LoaderOptions {
	return data.LoaderOptions{Seed: s.cfg.Seed, Workers: s.opt.Workers, MaxBad: maxBad, Pixels: s.pixels() != nil, Share: share}
}

func (s *feeder) loaderWith(set *data.Set, p *transform.Pipeline, opt data.LoaderOptions) (*data.Loader, error) {
	if s.features != nil {
		return data.NewFeatureLoader(set, s.features, p.Random(), opt)
	}
	return data.NewLoader(set, p, opt)
}

// pixels is the engine where it takes images as bytes; nil where it does not, or where features come instead of images.
func (s *feeder) pixels() engine.Feeder {
	if s.cfg.Data.CacheFrozen != "" || s.model.Width() > 0 {
		return nil
	}
	f, _ := s.model.Params.Engine().(engine.Feeder)
	return f
}
