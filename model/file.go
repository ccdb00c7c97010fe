package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// specKey is the metadata entry of a model file that holds the Spec.
const specKey = "vernier.model"

// shorterKey is the metadata entry that holds Model.Shorter, unless that is 0.
const shorterKey = "vernier.shorter"

// Owns reports whether a parameter belongs to the network (layers.Group.InModel). Those that
// only training needs share the set while a model is trained, and stay out of its file.
func Owns(p *layers.Param) bool { return p.Group.InModel() }

// Save writes specification, parameters and threshold to a safetensors file, with a
// checksum.
// extra is further metadata. The same model gives the same bytes.
func (m *Model) Save(path string, extra map[string]string) error {
	ts, err := m.tensors()
	if err != nil {
		return err
	}
	spec, err := m.Settled()
	if err != nil {
		return err
	}
	meta := map[string]string{specKey: spec.String(), "format": "pt"}
	for k, v := range extra {
		if k != thresholdKey && k != shorterKey && k != weights.ChecksumKey { // what Load returned may be given again
			meta[k] = v
		}
	}
	if m.Shorter != 0 {
		meta[shorterKey] = strconv.Itoa(m.Shorter)
	}
	if err := m.Threshold.store(meta); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return weights.WriteChecked(path, ts, meta)
}

// SaveNPZ writes the parameters alone, for NumPy.
func (m *Model) SaveNPZ(path string) error {
	ts, err := m.tensors()
	if err != nil {
		return err
	}
	return weights.WriteNPZ(path, ts)
}

// tensors are the network's parameters, without a scale that is in the specification, and
// with what LoRA adds to weights in these.
func (m *Model) tensors() ([]*weights.Tensor, error) {
	var ts []*weights.Tensor
	for _, p := range m.Params.All() {
		if !Owns(p) || isLoRA(p) || p.Name == logScale && m.Spec.Scaling != ScaleLearnEach {
			continue
		}
		t, err := m.stored(p)
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// StoredTensor is a tensor of an engine in the form that files take. Its numbers are read
// whenever it is written: a file takes little memory, and is made before they change.
func StoredTensor(eng engine.Engine, name string, v engine.Tensor) (*weights.Tensor, error) {
	return weights.Deferred(name, v.Shape(), func(dst []float32) error {
		if err := eng.Read(dst, v); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		return nil
	})
}

// HostTensor copies a tensor from an engine into the form that files take.
func HostTensor(eng engine.Engine, name string, v engine.Tensor) (*weights.Tensor, error) {
	host := make([]float32, v.Size())
	if err := eng.Read(host, v); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return weights.FromFloat32(name, v.Shape(), host)
}

// Load reads a model that Save wrote, and the metadata of its file. A file that does
// not agree with its checksum is refused.
func Load(path string, eng engine.Engine) (*Model, map[string]string, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if _, err := f.Verify(); err != nil {
		return nil, nil, err
	}
	text, ok := f.Metadata()[specKey]
	if !ok {
		return nil, nil, fmt.Errorf("%s is no Vernier model: its metadata has no %q; in the folder of a run the models are best.safetensors and last.safetensors", path, specKey)
	}
	var spec Spec
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&spec); err != nil {
		return nil, nil, fmt.Errorf("%s: the specification in %q: %w", path, specKey, err)
	}
	if net, _, _ := strings.Cut(spec.Backbone, ":"); !slices.Contains(backbone.Names(), net) {
		return nil, nil, fmt.Errorf("%s: the model's network, %q, is that of a program that registered it (backbone.Register), as each one that reads the file has to", path, net)
	}
	m, err := New(eng, spec, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := m.read(f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Threshold, err = storedThreshold(f.Metadata()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if text, ok := f.Metadata()[shorterKey]; ok {
		if m.Shorter, err = strconv.Atoi(text); err != nil || m.Shorter < 1 {
			return nil, nil, fmt.Errorf("%s: %q is %q, want a number of pixels", path, shorterKey, text)
		}
	}
	return m, f.Metadata(), nil
}

// read fills every parameter. Names must agree exactly.
func (m *Model) read(f *weights.File) error {
	var errs []error
	left := map[string]bool{}
	for _, n := range f.Names() {
		left[n] = true
	}
	for _, p := range m.Params.All() {
		delete(left, p.Name)
		if err := ReadInto(m.Params.Engine(), p.Value, f, p.Name); err != nil {
			errs = append(errs, err)
		}
	}
	for n := range left {
		errs = append(errs, fmt.Errorf("tensor %q belongs to no part of the model", n))
	}
	return errors.Join(errs...)
}

// ReadInto fills a tensor of an engine from the file's tensor of that name,
// which must have its shape. NaN and infinities are refused.
func ReadInto(eng engine.Engine, dst engine.Tensor, f *weights.File, name string) error {
	t, err := f.Tensor(name)
	if err != nil {
		return err
	}
	want := dst.Shape()
	fits := len(want) == len(t.Shape)
	for i := 0; fits && i < len(want); i++ {
		fits = want[i] == t.Shape[i]
	}
	if !fits {
		return fmt.Errorf("tensor %q has shape %v, the model wants %v", name, t.Shape, want)
	}
	host, err := t.Float32()
	if err != nil {
		return err
	}
	if err := checkFinite(name, host); err != nil {
		return err
	}
	return eng.Write(dst, host)
}
