package model

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// Recognized says of which network a weight file is.
type Recognized struct {
	// Backbone is the specification of the network, with the options that go with whose
	// file it is, and Input what that is fed.
	Backbone string                 `json:"backbone"`
	Input    backbone.Preprocessing `json:"input"`
	// Same are other networks of the same tensors, between which the file does not
	// decide; Why says what was decided by, where something was.
	Same []string `json:"same,omitempty"`
	Why  string   `json:"why,omitempty"`
	// Layout says whose names the file has, where those of the network differ, and Prefix
	// what stands before them.
	Layout string `json:"layout,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	// Grid is the side of the table of positions, 0 without one.
	Grid int `json:"grid,omitempty"`
	// Spec is that of a model by Vernier, which its file holds; else nil.
	Spec *Spec `json:"spec,omitempty"`
}

// NoNetworkError says that a file fits no network.
type NoNetworkError struct {
	Path string
	// Nearest is the network that differs least, in which Differences says; "" where no
	// network has any of the file's tensors.
	Nearest     string
	Differences *weights.MismatchError
}

func (e *NoNetworkError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("%s fits no network: none has any of its tensors", e.Path)
	}
	d := e.Differences
	var first []string
	if len(d.Misshaped) > 0 {
		m := d.Misshaped[0]
		first = append(first, fmt.Sprintf("%d of another shape (%s is %v, not %v)", len(d.Misshaped), m.Name, m.Have, m.Want))
	}
	if len(d.Missing) > 0 {
		first = append(first, fmt.Sprintf("%d missing (%s)", len(d.Missing), d.Missing[0].Name))
	}
	if len(d.Unexpected) > 0 {
		first = append(first, fmt.Sprintf("%d that the network does not have (%s)", len(d.Unexpected), d.Unexpected[0]))
	}
	return fmt.Sprintf("%s fits no network; nearest is %s, with these tensors: %s", e.Path, e.Nearest, strings.Join(first, ", "))
}

func (e *NoNetworkError) Unwrap() error {
	if e.Differences == nil {
		return nil
	}
	return e.Differences
}

// OtherNetworkError says that a file is of another network than that which was to start
// from it.
type OtherNetworkError struct {
	Path       string
	Backbone   string // which was to start
	Recognized *Recognized
	Err        *weights.MismatchError // all differences from Backbone
}

func (e *OtherNetworkError) Error() string {
	return fmt.Sprintf("%s is of %s, and the network is %s: take %s as the backbone, or another file", e.Path, e.Recognized, e.Backbone, e.Recognized.Backbone)
}

func (e *OtherNetworkError) Unwrap() error { return e.Err }

// networkOf is a specification without options.
func networkOf(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	return name
}

// Recognize finds the network that a weight file is of, by the names and shapes of its
// tensors: no number is read. dictionary chooses one of several networks in the file, as
// for LoadWeights. The error is a *NoNetworkError where no network fits.
func Recognize(path, dictionary string) (*Recognized, error) {
	f, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return recognize(f, dictionary)
}

func recognize(f *weights.File, dictionary string) (*Recognized, error) {
	if text, ok := f.Metadata()[specKey]; ok {
		var spec Spec
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			return nil, fmt.Errorf("%s: the specification in %q: %w", f.Path(), specKey, err)
		}
		return &Recognized{Backbone: spec.Backbone, Input: spec.Input, Spec: &spec}, nil
	}
	path := f.Path()
	f, layout, err := arrange(f)
	if err != nil {
		return nil, err
	}
	var found []candidate
	var nearest candidate
	least := math.Inf(1)
	for _, name := range backbone.Names() {
		c, err := newCandidate(name)
		if err != nil {
			continue // rows of features, or a program's own that wants more than a name
		}
		match, _, err := c.model.match(f, dictionary, true)
		var bad *weights.MismatchError
		switch {
		case err == nil:
			c.prefix = match.Prefix
			found = append(found, c)
		case errors.As(err, &bad):
			if off := c.distance(bad); off < least {
				nearest, least = c, off
				nearest.bad = bad
			}
		default:
			return nil, err // the file holds several networks, or no such dictionary
		}
	}
	if len(found) == 0 {
		return nil, &NoNetworkError{Path: path, Nearest: nearest.name, Differences: nearest.bad}
	}
	at, why := decide(found, path, f, layout)
	c := found[at]
	r := &Recognized{Backbone: c.name, Why: why, Layout: layout, Prefix: c.prefix}
	for i, other := range found {
		if i != at {
			r.Same = append(r.Same, other.name)
		}
	}
	return r, r.complete(f, c)
}

// candidate is a network that a file may be of.
type candidate struct {
	name   string
	model  *Model
	prefix string
	bad    *weights.MismatchError
}

// outlines holds candidates by name: they are looked at and never changed.
var outlines sync.Map

// newCandidate outlines a network without numbers.
func newCandidate(name string) (candidate, error) {
	if c, ok := outlines.Load(name); ok {
		return c.(candidate), nil
	}
	c, err := outline(name)
	if err == nil {
		outlines.Store(name, c)
	}
	return c, err
}

func outline(name string) (candidate, error) {
	net, err := backbone.New(name)
	if err != nil {
		return candidate{}, err
	}
	if _, rows := backbone.TakesRows(net); rows {
		return candidate{}, fmt.Errorf("%s takes no pictures", name)
	}
	spec, err := DefaultSpec(name)
	if err != nil {
		return candidate{}, err
	}
	spec.Head, spec.Dim = HeadNone, net.Channels()
	m, err := New(layers.Outline(), spec, 0)
	return candidate{name: name, model: m}, err
}

// distance is the share of tensors in which the network and the file differ.
func (c candidate) distance(bad *weights.MismatchError) float64 {
	wanted := len(c.model.Params.All())
	if len(bad.Missing) == wanted {
		return math.Inf(1)
	}
	return float64(len(bad.Missing)+len(bad.Misshaped)+len(bad.Unexpected)) / float64(wanted)
}

// decide chooses between networks of the same tensors by what else is known of the file.
func decide(found []candidate, path string, f *weights.File, layout string) (at int, why string) {
	if len(found) == 1 {
		return 0, ""
	}
	hint := func(family, because string) bool {
		at = slices.IndexFunc(found, func(c candidate) bool { return strings.TrimRight(c.name, "0123456789tsbl") == family })
		if at >= 0 {
			why = because
		}
		return at >= 0
	}
	if f.Format() == weights.FormatTorchScript && hint("clip", "the TorchScript archive, as OpenAI publishes it") {
		return at, why
	}
	name := strings.ToLower(filepath.Base(path))
	if act := hiddenAct(path); act == "quick_gelu" && hint("clip", "hidden_act in config.json") || act == "gelu" && hint("openclip", "hidden_act in config.json") {
		return at, why
	}
	for _, word := range []struct{ in, family string }{
		{"quickgelu", "clip"}, {"openai", "clip"}, {"open_clip", "openclip"}, {"laion", "openclip"}, {"datacomp", "openclip"},
		{"dino", "dino"}, {"deitsmall", "dino"}, {"vitbase", "dino"}, {"augreg", "vit"}, {"vit-b-", "clip"}, {"vit-l-", "clip"},
	} {
		if strings.Contains(name, word.in) && hint(word.family, fmt.Sprintf("%q in the file's name", word.in)) {
			return at, why
		}
	}
	if layout != "" && layout != "CLIP and OpenCLIP" && hint("vit", "it is a file of "+layout) {
		return at, why
	}
	if slices.ContainsFunc(f.Names(), func(n string) bool { return n == "head.weight" || strings.HasSuffix(n, ".head.weight") }) && hint("vit", "its classifier, which DINO's files have not") {
		return at, why
	}
	return 0, ""
}

// hiddenAct is the activation in the config.json of transformers beside a file, or "".
func hiddenAct(path string) string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil {
		return ""
	}
	var c struct {
		Act    string `json:"hidden_act"`
		Vision struct {
			Act string `json:"hidden_act"`
		} `json:"vision_config"`
	}
	if json.Unmarshal(text, &c) != nil {
		return ""
	}
	return cmp.Or(c.Vision.Act, c.Act)
}

// complete adds options and preprocessing that go with whose file it is.
func (r *Recognized) complete(f *weights.File, c candidate) error {
	for _, t := range f.Tensors() {
		if strings.HasSuffix(t.Name, "pos_embed") && len(t.Shape) == 3 {
			n := t.Shape[1]
			if r.Grid = int(math.Sqrt(float64(n))); r.Grid*r.Grid != n { // else no row of the class token
				r.Grid = int(math.Sqrt(float64(n - 1)))
			}
		}
	}
	var options [][2]string
	switch r.Layout {
	case "torchvision's vision transformers":
		options = [][2]string{{"pixels", "imagenet"}, {"positions", "align_corners"}}
	case "transformers' ViT":
		options = [][2]string{{"eps", "1e-12"}, {"positions", "plain"}}
	case "transformers' DINOv2":
		if !strings.HasSuffix(c.name, "reg4") {
			options = [][2]string{{"positions", "plain"}}
		}
	case "transformers' CLIP":
		options = [][2]string{{"positions", "plain"}}
	}
	for _, o := range options {
		r.Backbone = backbone.WithOption(r.Backbone, o[0], o[1])
	}
	net, err := backbone.New(r.Backbone)
	if err != nil {
		return err
	}
	r.Input = net.Preprocessing()
	// DINO's networks bring their table of positions to the pictures in each pass.
	if patch := c.patch(); patch > 0 && r.Grid > 0 && !strings.HasPrefix(c.name, "dino") && r.Grid*patch != r.Input.Size {
		r.Input = r.Input.WithSize(r.Grid * patch)
	}
	for _, second := range torchvisionSecond() {
		if strings.Contains(filepath.Base(f.Path()), second) {
			r.Input.Resize = 232
		}
	}
	switch r.Layout {
	case "torchvision's vision transformers":
		r.Input.Resize, r.Input.Bicubic = 256, false
	case "timm's ConvNeXt", "the authors' ConvNeXt":
		r.Input.Resize, r.Input.Bicubic = 256, true
	case "transformers' ViT":
		r.Input.Stretch, r.Input.Bicubic, r.Input.Resize = true, false, 0
	}
	return nil
}

// torchvisionSecond lists what stands in the names of torchvision's second weights, which
// were trained for pictures whose shorter side is 232.
func torchvisionSecond() []string { return []string{"11ad3fa6", "cd907fc2", "f82ba261"} }

// patch is the side of a transformer's patches, 0 of other networks.
func (c candidate) patch() int {
	if p := c.model.Params.Get("patch_embed.proj.weight"); p != nil && len(p.Value.Shape()) == 4 {
		return p.Value.Shape()[3]
	}
	return 0
}

// String is one line for people.
func (r *Recognized) String() string {
	var b strings.Builder
	b.WriteString(r.Backbone)
	switch {
	case r.Spec != nil:
		b.WriteString(", a model by Vernier")
	case r.Layout != "":
		b.WriteString(", by the names of " + r.Layout)
	}
	if r.Prefix != "" {
		fmt.Fprintf(&b, ", behind %q", r.Prefix)
	}
	if r.Grid > 0 {
		fmt.Fprintf(&b, ", positions %d x %d", r.Grid, r.Grid)
	}
	switch {
	case r.Why != "":
		fmt.Fprintf(&b, "; %s would fit as well, chosen by %s", strings.Join(r.Same, ", "), r.Why)
	case len(r.Same) > 0:
		fmt.Fprintf(&b, "; %s would fit as well, and nothing in the file decides", strings.Join(r.Same, ", "))
	}
	return b.String()
}
