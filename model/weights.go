package model

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/weights"
)

// Loaded says what LoadWeights took from a file.
type Loaded struct {
	Format  weights.Format
	Layout  string   // whose names the file has, where those of the network differ
	Prefix  string   // what stands before the network's names in the file
	Filled  int      // tensors read
	Resized []string // parameters brought to another image size
	Ignored []string // names in the file that the network has no use for
	Kept    []string // parameters of the head, which the file does not have
}

// wrappers are what training programs put before the names of a network.
func wrappers() []string { return []string{"module.", "model.", "backbone."} }

// transparent are the parts of names that wrappers of modules put anywhere:
// torch.compile, fully sharded training of two versions, activation checkpoints,
// Lightning Fabric, and gradients of single samples.
func transparent() []string {
	return []string{"_orig_mod", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module", "_forward_module", "_module"}
}

// LoadWeights fills the backbone, running statistics included, and the head
// where the file has one, from a public or an own weight file. Names and shapes
// must agree, but: wrappers such as "module." and "_orig_mod." are cut, as is any
// other prefix that all names of the network have, layouts of other programs
// (weights.Layouts) are arranged, batch normalizations may
// be (1,C), classifiers and blocks after the trunk's end are ignored, a
// position embedding is resampled. dictionary chooses one of several networks in
// the file, empty where there is one; see weights.Rules.Prefix.
//
// The error about names and shapes lists every difference, and the model is
// then unchanged. NaN and infinities are refused; after an error of this kind,
// or while reading, the model is not to be used.
func (m *Model) LoadWeights(path, dictionary string) (*Loaded, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Verify(); err != nil {
		return nil, err
	}
	whole, layout := f, ""
	if _, _, err := m.match(f, dictionary, true); err != nil { // a network of a program's own may have such names itself
		if f, layout, err = arrange(f); err != nil {
			return nil, err
		}
	}
	l, err := m.fill(f, dictionary)
	var bad *weights.MismatchError
	if errors.As(err, &bad) {
		if r, other := recognize(whole, dictionary); other == nil && networkOf(r.Backbone) != networkOf(m.Spec.Backbone) {
			return nil, &OtherNetworkError{Path: path, Backbone: m.Spec.Backbone, Recognized: r, Err: bad}
		}
	}
	if err != nil {
		return nil, err
	}
	l.Layout = layout
	return l, nil
}

// arrange presents a file under the names of networks here, and says whose layout it has
// where that has other names.
func arrange(f *weights.File) (arranged *weights.File, layout string, err error) {
	if weights.IsGoogleViT(f) {
		arranged, err = weights.GoogleViT(f)
		return arranged, "Google's vision transformers", err
	}
	l := weights.LayoutOf(f)
	if l == nil {
		return f, "", nil
	}
	if arranged, err = l.Arrange(f); err != nil {
		return nil, "", err
	}
	if slices.Equal(arranged.Names(), f.Names()) {
		return f, "", nil
	}
	return arranged, l.Name, nil
}

func (m *Model) fill(f *weights.File, dictionary string) (*Loaded, error) {
	match, resized, err := m.match(f, dictionary, false)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Format: f.Format(), Prefix: match.Prefix, Filled: len(match.Pairs), Ignored: match.Ignored, Kept: match.Kept}
	for _, p := range match.Pairs { // one after another: a file may be large
		values, err := p.From.Float32()
		if err != nil {
			return nil, err
		}
		if err := checkFinite(p.From.Name, values); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path(), err)
		}
		if want, ok := resized[p.Want.Name]; ok {
			if values, ok = m.net.(backbone.Fitter).Fit(p.Want.Name, values, p.Want.Shape, want); !ok {
				return nil, fmt.Errorf("%s: %s has shape %v, which cannot be brought to %v", f.Path(), p.Want.Name, p.Want.Shape, want)
			}
			l.Resized = append(l.Resized, p.Want.Name)
		}
		if err := m.Params.Engine().Write(m.Params.Get(p.Want.Name).Value, values); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Want.Name, err)
		}
	}
	return l, nil
}

// checkFinite refuses numbers of a tensor that no network computes with.
func checkFinite(name string, values []float32) error {
	for i, v := range values {
		if v-v != 0 { // of NaN and infinities only
			return fmt.Errorf("tensor %q holds %v (number %d of %d): the file is damaged, or what was trained diverged", name, v, i+1, len(values))
		}
	}
	return nil
}

// match pairs the model's parameters with the file's tensors. resized holds the
// shapes that the model wants of those that the file has for another image size. brief
// leaves hints out of the error, see weights.Rules.
func (m *Model) match(f *weights.File, dictionary string, brief bool) (match *weights.Match, resized map[string][]int, err error) {
	var want []weights.Spec
	for _, p := range m.Params.All() {
		if Owns(p) && !isLoRA(p) {
			want = append(want, weights.Spec{Name: p.Name, DType: weights.Float32, Shape: slices.Clone([]int(p.Value.Shape()))})
		}
	}
	rules := weights.Rules{
		Prefix: dictionary, Strip: wrappers(), Transparent: transparent(),
		Ignore: append(m.net.Ignored(), weights.BatchCounts), Optional: []string{headPrefix + "*"}, Brief: brief,
	}
	if m.Spec.Head == HeadNone {
		rules.Ignore = append(rules.Ignore, headPrefix+"*")
	}
	match, err = weights.Fit(f, want, rules)
	var bad *weights.MismatchError
	if !errors.As(err, &bad) || !acceptSizes(m.net, want, bad) {
		return match, nil, err
	}
	resized = map[string][]int{}
	for _, b := range bad.Misshaped {
		resized[b.Name] = b.Want
	}
	match, err = weights.Fit(f, want, rules)
	return match, resized, err
}

// acceptSizes changes the wanted shapes to those of the file where the backbone
// can bring one to the other, and reports whether all misfits were of this kind.
func acceptSizes(net backbone.Backbone, want []weights.Spec, bad *weights.MismatchError) bool {
	fitter, ok := net.(backbone.Fitter)
	if !ok || len(bad.Misshaped) == 0 || len(bad.Missing)+len(bad.Unexpected) > 0 {
		return false
	}
	for _, b := range bad.Misshaped {
		n := 1
		for _, d := range b.Have {
			n *= d
		}
		if _, ok := fitter.Fit(b.Name, make([]float32, n), b.Have, b.Want); !ok {
			return false
		}
		for i := range want {
			if want[i].Name == b.Name {
				want[i].Shape = b.Have
			}
		}
	}
	return true
}
