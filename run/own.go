package run

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/registry"
	"github.com/vernier-ml/vernier/losses"
)

// CheckKnown says which parts of a stored configuration this program does not know by
// their names: the program that began the run had registered them.
func (c Config) CheckKnown() error {
	kind, _, _ := strings.Cut(c.Data.Spec, ":")
	var kinds []string
	for _, k := range data.List() {
		kinds = append(kinds, k.Kind)
	}
	type part struct {
		what, name string
		known      []string
		call       string
	}
	parts := []part{
		{"data set", kind, kinds, "data.Register"},
		{"augmentation", c.Data.Augment, transform.Names(), "transform.Register"},
		{"sampler", c.Sampler, data.SamplerNames(), "data.RegisterSampler"},
		{"backbone", nameOf(c.Model.Backbone), backbone.Names(), "backbone.Register"},
		{"loss", c.Loss.Name, losses.Names(), "losses.Register"},
	}
	for _, t := range c.Loss.Terms {
		parts = append(parts, part{"term", t.Name, losses.TermNames(), "losses.Register"})
	}
	var unknown []string
	for _, p := range parts {
		if !slices.Contains(p.known, p.name) {
			unknown = append(unknown, fmt.Sprintf("%s %q (%s)", p.what, p.name, p.call))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("the program that began the run has what this one does not know and has to register, too: %s", strings.Join(unknown, ", "))
}

// CheckLoss says how a loss that the program registered differs from the one that the
// run began with, which Loss.Effective describes, for a number of training classes. Of
// the losses of package losses it says nothing: their settings are their names and
// parameters.
func (c Config) CheckLoss(classes int) error {
	if !slices.Contains(losses.Registered(), c.Loss.Name) || c.Loss.Effective == nil {
		return nil
	}
	now, err := losses.Effective(c.Loss.Name, c.LossOptions(classes, c.Loss.Params))
	if err != nil {
		return err
	}
	var differ []string
	all := maps.Clone(now)
	maps.Copy(all, c.Loss.Effective)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if was, is := c.Loss.Effective[field], now[field]; was != is {
			differ = append(differ, fmt.Sprintf("%s was %s, is %s", field, orNone(was), orNone(is)))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("the loss %q that is registered is not the one that the run began with: %s", c.Loss.Name, strings.Join(differ, "; "))
	}
	return nil
}

// DescribeOwn describes a sampler and an augmentation that the program registered, by
// "sampler" and "augmentation": the batches of the first epoch, and the steps with their
// fields. Of what packages of this module have it says nothing: their settings are their
// names and the seed.
func (c Config) DescribeOwn(sampler data.Sampler) (map[string]string, error) {
	own := map[string]string{}
	if c.Sampler != data.SamplerBalanced && c.Sampler != data.SamplerRandom {
		h := sha256.New()
		for _, batch := range sampler.Epoch(0) {
			fmt.Fprintln(h, batch)
		}
		own["sampler"] = fmt.Sprintf("%s, whose first batches have the digest %x", c.Sampler, h.Sum(nil)[:8])
	}
	if slices.Contains(transform.Registered(), c.Data.Augment) {
		p, _, err := c.Pipelines()
		if err != nil {
			return nil, err
		}
		steps := make([]string, len(p.Steps))
		for i, step := range p.Steps {
			steps[i] = registry.Text(step)
		}
		own["augmentation"] = fmt.Sprintf("%s of %s", c.Data.Augment, strings.Join(steps, ", "))
	}
	return own, nil
}

// CheckOwn compares what DescribeOwn says now with what it said when the run began.
func CheckOwn(before, now map[string]string) error {
	for _, part := range slices.Sorted(maps.Keys(before)) {
		if before[part] != now[part] {
			return fmt.Errorf("the %s that is registered is not the one that the run began with: it was %s, and is %s", part, before[part], orNone(now[part]))
		}
	}
	return nil
}
