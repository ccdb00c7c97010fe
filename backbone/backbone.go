package backbone

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Backbone adds a network to a graph.
type Backbone interface {
	// Forward adds the network on images x (B, 3, H, W) and returns its last
	// feature map (B, C, H', W'). training says that batch normalisation uses
	// the batch's statistics.
	Forward(g *layers.Graph, x *layers.Node, training bool) *layers.Node
	// Preprocessing is how this network wants its images.
	Preprocessing() Preprocessing
}

// Preprocessing says how a picture becomes the network's input in evaluation:
// its shorter side is brought to Resize pixels and the middle Size x Size are
// cut out (with Stretch: it is brought to Size x Size whatever its aspect
// ratio), then each channel value 0..255 becomes (value/Range - Mean) / Std.
type Preprocessing struct {
	Size    int        `json:"size"`
	Resize  int        `json:"resize"` // 0 means Size
	Stretch bool       `json:"stretch"`
	Bicubic bool       `json:"bicubic"` // instead of bilinear; both antialiased
	Range   float64    `json:"range"`
	Mean    [3]float64 `json:"mean"` // in the order of the channels below
	Std     [3]float64 `json:"std"`
	BGR     bool       `json:"bgr"` // channels are blue, green, red
}

// WithSize returns p for another side, with Resize in proportion.
func (p Preprocessing) WithSize(size int) Preprocessing {
	if p.Resize > 0 && p.Size > 0 {
		p.Resize = (p.Resize*size + p.Size/2) / p.Size
	}
	p.Size = size
	return p
}

// all is the table of backbones by their names on the command line.
func all() []struct {
	name string
	net  Backbone
} {
	return []struct {
		name string
		net  Backbone
	}{
		{"convnet", ConvNet{Channels: []int{32, 64, 128, 128}}},
	}
}

// New returns the backbone of that name.
func New(name string) (Backbone, error) {
	for _, b := range all() {
		if b.name == name {
			return b.net, nil
		}
	}
	return nil, fmt.Errorf("unknown backbone %q (there is: %s)", name, strings.Join(Names(), ", "))
}

// Names lists the backbones.
func Names() []string {
	var names []string
	for _, b := range all() {
		names = append(names, b.name)
	}
	return names
}
