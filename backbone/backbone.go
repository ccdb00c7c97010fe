package backbone

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Backbone adds a network to a graph. Sequence makes one of blocks.
type Backbone interface {
	// Forward adds the network on images x (B, 3, H, W). A convolutional
	// network returns its last feature map (B, Channels, H', W'), a transformer
	// its tokens (B, T, Channels), the class token first.
	Forward(g *layers.Graph, x *layers.Node, mode Mode) *layers.Node
	// Channels is the number of features at each place of the output.
	Channels() int
	// Tokens reports whether the output is tokens instead of a map.
	Tokens() bool
	// Blocks names the parts of the network in order; --trunk-end takes a block's
	// name, or that of a group of them ("layer3" of "layer3.0", "layer3.1").
	Blocks() []string
	// Preprocessing is how this network wants its images.
	Preprocessing() Preprocessing
	// CheckSize refuses a side of the images that Forward would not refuse but
	// should not be used.
	CheckSize(side int) error
	// Ignored lists patterns of names that the network's public files hold and
	// an embedding has no use for: classifiers, and blocks after the trunk's
	// end. "*" at the begin or the end of a pattern stands for any text.
	Ignored() []string
}

// Mode says what a network is built for. The zero value is evaluation.
type Mode struct {
	// BatchStats reports whether the batch normalization of that name uses the
	// statistics of the batch, and moves the running ones. Nil: none does.
	BatchStats func(norm string) bool
	// From, if not empty, is the block whose output x is, in place of images: the
	// network begins after it. To, if not empty, is the last block that is added.
	// Both are names as FindBlock returns them.
	From, To string
	// DropPath is the probability with which an image skips the last of the branches that a
	// network adds to what they are given; that of the branches before falls evenly to 0
	// at the first. It is for networks for which DropsPaths is true.
	DropPath float64
	// LoRA changes the layers of attention; it is for networks that Attention finds.
	LoRA layers.LoRA
	// Recompute, if not 0, is the number of blocks that follow each other of which only the
	// last one's output is kept for the reverse pass, which computes the rest again
	// (layers.Graph.Recompute). It is for networks for which Recomputes is true.
	Recompute int
	// Observe, if not nil, is called with the output of every block, which then stays
	// readable after a run.
	Observe func(block string, out *layers.Node)
	// Flow, if not nil, mixes the images of a batch behind some convolutions. It
	// is for convolutional networks, from images on.
	Flow *Flow
}

// Training is the mode in which every batch normalization uses the batch.
func Training() Mode { return Mode{BatchStats: func(string) bool { return true }} }

// DropsPaths reports whether a network has branches that Mode.DropPath drops.
func DropsPaths(b Backbone) bool {
	switch b := b.(type) {
	case *transformer:
		return true
	case *trunk:
		return b.paths
	}
	return false
}

// Attention returns the length of the tokens among which a network has attention; ok is false
// where it has none.
func Attention(b Backbone) (width int, ok bool) {
	t, ok := b.(*transformer)
	if !ok {
		return 0, false
	}
	return t.dim, true
}

// Recomputes reports whether a network can be computed again by blocks, see Mode.Recompute.
func Recomputes(b Backbone) bool {
	switch b.(type) {
	case *transformer, *trunk:
		return true
	}
	return false
}

// Fitter is a Backbone some of whose parameters depend on the size of its
// images and can be brought from another size.
type Fitter interface {
	// Fit returns values of shape have as those of shape want for the parameter
	// of that name. ok is false where that cannot be done.
	Fit(name string, values []float32, have, want []int) (fitted []float32, ok bool)
}

// entry is a row of the table of backbones.
type entry struct {
	name string
	make func(o options) (Backbone, error)
	// options that it takes beside those of every backbone
	options []string
}

// all is the table of backbones by their names on the command line.
func all() []entry {
	trunk := []string{optTrunkEnd, optMomentum}
	list := []entry{
		{"convnet", newConvNet, trunk},
		{"bninception", newBNInception, trunk},
		{"inceptionv3", newInceptionV3, append([]string{optCountPad}, trunk...)},
		{"googlenet", newGoogLeNet, trunk},
	}
	for _, r := range resNets() {
		list = append(list, entry{r.name, r.new, trunk})
	}
	for _, e := range efficientNetLites() {
		list = append(list, entry{e.name, e.new, trunk})
	}
	for _, c := range convNeXts() {
		list = append(list, entry{c.name, c.new, []string{optTrunkEnd}})
	}
	return append(list, transformers()...)
}

// New returns the backbone that a specification names: a name, or a name and
// options, as in "inceptionv3:trunk-end=Mixed_7a,count-pad=false".
//
//	trunk-end=BLOCK   end the network at that block
//	pixels=RANGE      what the network is fed: one of PixelRanges
//	bn-momentum=M     share of a batch in the running statistics
//	count-pad=BOOL    average pools of inceptionv3 count padding (default true)
//	eps=E             epsilon of a transformer's layer normalization
//	gelu=FORM         a transformer's activation: erf, quick or tanh
//	positions=METHOD  how positions are brought to another grid: see Positions
//	grid=SIDE         side of the table of positions that is trained (0: the pictures')
//	proj=BOOL         end CLIP's towers behind their projection (default true)
//	dim=D, norm=NORM  length of the rows of features, and one of RowNorms
func New(spec string) (Backbone, error) {
	name, rest, _ := strings.Cut(spec, ":")
	if name == FeaturesName {
		b, err := newFeatures(rest)
		if err != nil {
			return nil, fmt.Errorf("backbone %s: %w", name, err)
		}
		return b, nil
	}
	for _, e := range all() {
		if e.name != name {
			continue
		}
		o, err := parseOptions(rest, e.options)
		if err != nil {
			return nil, fmt.Errorf("backbone %s: %w", name, err)
		}
		b, err := e.make(o)
		if err != nil {
			return nil, fmt.Errorf("backbone %s: %w", name, err)
		}
		return b, nil
	}
	if own, ok := registered.Get(name); ok {
		return makeOwn(name, spec, own)
	}
	return nil, fmt.Errorf("unknown backbone %q (there is: %s)", name, strings.Join(Patterns(), ", "))
}

// Names lists the backbones: first those of this package, then those that Register
// added.
func Names() []string { return append(builtIn(), registered.Names()...) }

// Patterns lists the names of Names as help writes them: those of a family of vision
// transformers as one, "clip{b32,b16,l14}".
func Patterns() []string {
	var list []string
	members := map[string]bool{}
	for _, e := range transformers() {
		members[e.name] = true
	}
	for _, name := range builtIn() {
		if !members[name] {
			list = append(list, name)
		}
	}
	for _, f := range vitFamilies() {
		list = append(list, f.pattern())
	}
	return append(list, registered.Names()...)
}

func builtIn() []string {
	var names []string
	for _, e := range all() {
		names = append(names, e.name)
	}
	return append(names, FeaturesName)
}
