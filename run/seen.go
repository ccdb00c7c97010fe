package run

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/internal/plural"
)

// Seen counts what of a set was for training, its validation included.
type Seen struct {
	Classes   int `json:"classes"` // by name
	OfClasses int `json:"of_classes"`
	Images    int `json:"images"` // by place or content
	OfImages  int `json:"of_images"`
}

// Seen compares a set that was embedded in place of the run's own with what the run
// was trained on. It is nil of the run's own set, and where that is gone, of which
// it warns.
func (e *Embedded) Seen(ctx context.Context, sel Selection) (*Seen, error) {
	if sel.Data == "" || sel.Split == "train" || sel.Split == "validation" {
		return nil, nil
	}
	cfg := e.cfg
	cfg.Data.Shorter, cfg.Data.Corrupt = 0, CorruptConfig{}
	own, err := OpenSets(ctx, cfg, sel.Options)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		OrSilent(sel.Events).Warn("whether the run was trained on images of %s is not known, as its own are gone: %v", e.Set.Name, err)
		return nil, nil
	}
	defer own.All.Close()
	trained := own.trained()
	s := &Seen{OfClasses: len(e.Set.Classes), OfImages: len(e.Set.Items)}
	if s.Classes, s.Images, err = e.Set.Shared(ctx, trained...); err != nil {
		return nil, err
	}
	if s.Classes > 0 || s.Images > 0 {
		OrSilent(sel.Events).Warn("%s: %v", e.Set.Name, s)
	}
	return s, nil
}

// String says it in words.
func (s *Seen) String() string {
	if s.Images == 0 {
		return fmt.Sprintf("%d of its %s have the name of a class that was for training, and none of its images was: if they are the same classes, these figures are not of unseen ones", s.Classes, plural.Of(s.OfClasses, "class"))
	}
	return fmt.Sprintf("%d of its %s and %d of its %s were for training: these figures are not of unseen classes", s.Classes, plural.Of(s.OfClasses, "class"), s.Images, plural.Of(s.OfImages, "image"))
}
