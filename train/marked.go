package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/run/pairs"
)

// pairsTerm is the name of the loss on marked pairs beside another one.
const pairsTerm = "pairs"

// openPairs reads the pairs that somebody has marked, if the run has any.
func (s *Session) openPairs() error {
	c := &s.cfg.Pairs
	if c.File == "" {
		return nil
	}
	wrong := func(err error) error { return run.AtSetting("pairs.file", err) }
	sum, err := wholefile.Digest(c.File)
	if err != nil {
		return wrong(err)
	}
	if c.SHA256 != "" && c.SHA256 != sum {
		return wrong(fmt.Errorf("%s has changed since the run began: give it its contents of then, or begin a new run", c.File))
	}
	c.SHA256 = sum
	file, err := pairs.ReadFile(c.File)
	if err != nil {
		return wrong(err)
	}
	all := file.Find(s.sets.All)
	_, faults := pairs.New(all.Pairs)
	if faults = slices.Concat(all.Unknown, all.Itself, faults); len(faults) > 0 {
		return wrong(pairFault(c.File, faults))
	}
	found := file.Find(s.sets.Train)
	if n := len(all.Pairs) - len(found.Pairs); n > 0 {
		s.ev.Warn("%s: %s of images that are not for training left out", c.File, plural.Of(n, "pair"))
	}
	if len(found.Pairs) == 0 {
		return wrong(fmt.Errorf("%s: no pair is of two training images", c.File))
	}
	relations, _ := pairs.New(found.Pairs)
	if !s.cfg.Unlabeled() {
		train := s.sets.Train
		faults = relations.AgainstLabels(train.Labels(), func(label int) string { return train.Classes[label] })
		if len(faults) > 0 && c.Beside {
			return wrong(pairFault(c.File, faults))
		}
		if len(faults) > 0 {
			s.ev.Warn("%v; the labels are for measuring only", pairFault(c.File, faults))
		}
	}
	s.pairs = relations
	s.ev.Say("%s: %s", c.File, relations.Describe())
	return nil
}

// pairFault says which lines of a file are wrong.
func pairFault(file string, faults []pairs.Fault) error {
	const named = 3
	var texts []string
	for _, f := range faults[:min(named, len(faults))] {
		texts = append(texts, f.String())
	}
	more := ""
	if n := len(faults) - named; n > 0 {
		more = fmt.Sprintf("; and %s more, all of which vernier data check lists", plural.Of(n, "fault"))
	}
	return fmt.Errorf("%s: %s%s", file, strings.Join(texts, "; "), more)
}

// samplePairs adds marked pairs to the batches, or makes batches of them alone.
func (s *Session) samplePairs() error {
	if s.pairs == nil {
		return nil
	}
	var base data.Sampler
	if s.cfg.Pairs.Beside {
		base = s.sampler
	}
	sampler, err := pairs.NewSampler(s.pairs.Pairs, s.cfg.Pairs.PerBatch, s.cfg.Seed, base)
	if err != nil {
		return run.AtSetting("pairs.file", err)
	}
	s.sampler = sampler
	return nil
}

// groupedByPairs is the training set as batches are labeled: without labels, images that
// pairs say are the same are of one class for the loss on views.
func (s *setup) groupedByPairs() *data.Set {
	set := s.sets.Train
	if s.pairs == nil || !s.cfg.Pairs.Beside || !set.OneEach {
		return set
	}
	grouped := *set
	grouped.Items = slices.Clone(set.Items)
	for i := range grouped.Items {
		grouped.Items[i].Label = set.Items[s.pairs.Root(i)].Label
	}
	return &grouped
}

// objective is what the run is trained for.
func (s *Session) objective() (objective, error) {
	classes := len(s.sets.Train.Classes)
	o, err := objectiveOf(s.cfg, classes)
	if err != nil || s.pairs == nil {
		return o, err
	}
	loss, err := pairs.NewLoss(s.pairs, s.cfg.Pairs.Triplet, s.cfg.LossOptions(classes, nil))
	if err != nil {
		return o, err
	}
	if !s.cfg.Pairs.Beside {
		o.loss = loss
		return o, nil
	}
	if slices.ContainsFunc(o.terms, func(t losses.Term) bool { return t.Name == pairsTerm }) {
		return o, setting.Errorf("a term is called %s, as the loss on marked pairs is", pairsTerm)
	}
	o.terms = append(o.terms, losses.Term{Name: pairsTerm, Loss: loss, Weight: s.cfg.Pairs.Weight})
	return o, nil
}
