package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/model"
)

// Splits lists what can be chosen of a run's images: its parts, or all.
func Splits() []string { return []string{"test", "validation", "train", "all"} }

// Selection says which model of a run embeds which images. The zero value is
// that of the best epoch on the test classes.
type Selection struct {
	Choice Choice // the model
	Data   string // another data set in place of the run's own
	Split  string // one of Splits; empty means test, of another data set everything
	// MaxBad is how many unreadable images may be left out; at least as many as in training
	// (Config.Data.MaxBad) may be.
	MaxBad int
	// SuperClasses, if set, stand in place of those of the data set.
	SuperClasses *data.SuperClasses
	// Choose, if set, says which items of the chosen images are embedded. If it chooses
	// none, there are no rows.
	Choose func(set *data.Set) ([]int, error)
	// Crops, if not 0, is how many crops of each picture are looked at in place of the
	// model's own number: see model.Model.SetCrops.
	Crops int
	Options
}

func (s Selection) describe() string {
	switch {
	case s.Data != "" && s.Split == "":
		return "all classes of another set"
	case s.Split == "":
		return "test classes"
	}
	return s.Split + " classes"
}

// Embedded is a set as a run's model sees it.
type Embedded struct {
	Model      *model.Model
	Epoch      int       // of the model, from 1; 0 is untrained
	Averaged   bool      // the model has averaged weights
	Set        *data.Set // without unreadable images
	Embeddings *eval.Embeddings
	LeftOut    []string // paths of the unreadable images

	cfg      Config
	pipeline *transform.Pipeline
	loader   *data.Loader
	Features *data.Features // of the frozen blocks; may be nil
	whole    *data.Set
}

// Close releases the images.
func (e *Embedded) Close() error {
	if e.Features != nil {
		if err := e.Features.Close(); err != nil {
			return err
		}
	}
	return e.whole.Close()
}

// Sides divides the rows into queries and gallery.
func (e *Embedded) Sides() Sides { return NewSides(e.Set.Items, e.Embeddings) }

// Embed loads a run's model and embeds the chosen images.
func Embed(ctx context.Context, folder Folder, eng engine.Engine, sel Selection) (*Embedded, error) {
	cfg, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	m, epoch, err := folder.LoadModel(eng, sel.Choice)
	if err != nil {
		return nil, err
	}
	averaged, err := folder.IsAveraged(sel.Choice)
	if err != nil {
		return nil, err
	}
	e, err := embedSelection(ctx, cfg, m, epoch, sel)
	if err == nil {
		e.Averaged = averaged
	}
	return e, err
}

// embedSelection embeds the chosen images of a configuration with a model.
func embedSelection(ctx context.Context, cfg Config, m *model.Model, epoch int, sel Selection) (_ *Embedded, err error) {
	if err := m.SetCrops(sel.Crops); err != nil {
		return nil, err
	}
	cfg.Model.Input.Crops = m.Spec.Input.Crops // of the network before training
	if err := cfg.validateFrozen(); err != nil {
		return nil, err
	}
	e := &Embedded{cfg: cfg, Model: m, Epoch: epoch}
	if e.pipeline, err = e.Model.Spec.Input.Evaluation(); err != nil {
		return nil, err
	}
	if e.whole, e.Set, err = sel.Open(ctx, e.cfg); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if sel.Data != "" { // of its own set training has spoken
		for _, n := range e.whole.Remarks() {
			OrSilent(sel.Events).Warn("%s", n)
		}
	}
	if sel.SuperClasses != nil {
		if e.Set, err = sel.SuperClasses.Give(e.whole, e.Set); err != nil {
			return nil, err
		}
	}
	if sel.Choose != nil {
		items, err := sel.Choose(e.Set)
		if err != nil {
			return nil, err
		}
		e.Set = e.Set.Select(e.Set.Name, items)
		if len(items) == 0 {
			e.Embeddings = &eval.Embeddings{H: m.Spec.Dim}
			return e, nil
		}
	}
	if sel.Data == "" {
		if e.Features, err = cfg.Features(ctx, e.whole, m, sel.Options); err != nil {
			return nil, err
		}
	}
	if err := e.open(data.LoaderOptions{Workers: sel.Workers, MaxBad: max(e.cfg.Data.MaxBad, sel.MaxBad)}); err != nil {
		return nil, err
	}
	rows, err := e.rows(ctx, m, "embedding", sel.Options)
	if err != nil {
		return nil, err
	}
	if err := rows.warnLeftOut(e.Set, e.loader.Bad(), sel.Events); err != nil {
		return nil, err
	}
	if e.LeftOut = rows.leftOut(e.Set); len(e.LeftOut) > 0 {
		e.Set = e.Set.Select(e.Set.Name, rows.Items)
		if err := e.open(data.LoaderOptions{Workers: sel.Workers}); err != nil {
			return nil, err
		}
		rows.Embeddings.Labels = e.Set.Labels()
	}
	e.Embeddings = rows.Embeddings
	return e, nil
}

// Open opens the images that are meant, without embedding any: the set that is to be closed,
// and the part of it. cfg is the configuration of the run.
func (s Selection) Open(ctx context.Context, cfg Config) (whole, part *data.Set, err error) {
	if s.Data != "" {
		if s.Split == "" {
			set, _, err := openSet(ctx, s.Data, cfg.Data, s.Options)
			return set, set, err
		}
		cfg.Data.Spec = s.Data
	}
	split := s.Split
	if split == "" {
		split = "test"
	}
	if !slices.Contains(Splits(), split) {
		return nil, nil, fmt.Errorf("unknown split %q (there is: %s)", split, strings.Join(Splits(), ", "))
	}
	sets, err := OpenSets(ctx, cfg, s.Options)
	if s.Data != "" && errors.As(err, new(*data.OneSidedError)) && cfg.Data.Corrupt == (CorruptConfig{}) {
		sets, err = openOneSide(ctx, cfg, s.Options)
	}
	if err != nil {
		return nil, nil, err
	}
	if part = sets.part(split); part == nil {
		sets.All.Close()
		return nil, nil, sets.noPart(split, s.Data)
	}
	return sets.All, part, nil
}

// part is one of Splits, nil if there is none.
func (s Sets) part(split string) *data.Set {
	return map[string]*data.Set{"test": s.Test, "validation": s.Validation, "train": s.Train, "all": s.All}[split]
}

// noPart says that there is no such split, and which there are.
func (s Sets) noPart(split, spec string) error {
	var there []string
	for _, name := range Splits() {
		if s.part(name) != nil {
			there = append(there, name)
		}
	}
	what := fmt.Sprintf("%s has no images for %s", spec, split)
	if split == "validation" {
		what = "the run set no validation classes aside"
		if spec != "" {
			what = "no validation classes can be set aside of " + spec + ", as the run's settings have them"
		}
	}
	return fmt.Errorf("%s; its splits are: %s", what, strings.Join(there, ", "))
}

// openOneSide opens a set whose own split has one part alone: enough to be measured
// on, not to train.
func openOneSide(ctx context.Context, cfg Config, opt Options) (s Sets, err error) {
	if s.All, s.Fingerprint, err = openSet(ctx, cfg.Data.Spec, cfg.Data, opt); err != nil {
		return s, err
	}
	if s.All.Items[0].Part == data.TestPart {
		s.Test = s.All
		return s, nil
	}
	whole := s
	whole.Train = s.All
	if s, err = whole.setAside(cfg); err != nil {
		whole.All.Close()
	}
	return s, err
}
