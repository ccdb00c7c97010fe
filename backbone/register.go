package backbone

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/internal/registry"
)

// registered holds the backbones of a program's own by name.
var registered registry.Table[func() (Backbone, error)]

// Register makes a network of a program's own known by a name, under which New, the
// specification of a model and the settings of a run find it. A file of a model names
// its network: a program that reads one, or resumes a run, registers the network
// before it does so. The name takes no options: variants have names of their own.
//
// Names have lower-case letters, digits and hyphens. Register panics where the name is
// malformed or taken, or make is nil. make is called by several goroutines and returns
// the same network in each call.
func Register(name string, make func() (Backbone, error)) {
	if make == nil {
		panic(fmt.Sprintf("backbone.Register: the function that makes %q is nil", name))
	}
	registered.Add("backbone.Register", name, make, builtIn())
}

func makeOwn(name, spec string, own func() (Backbone, error)) (Backbone, error) {
	if spec != name {
		return nil, fmt.Errorf("backbone %s was registered by this program and takes no options, but is written %q", name, spec)
	}
	b, err := own()
	switch {
	case err == nil && b == nil:
		err = errors.New("the function that was registered returned no network")
	case err == nil && b.Channels() < 1:
		err = fmt.Errorf("it says that it has %d channels, want 1 or more", b.Channels())
	}
	if err != nil {
		return nil, fmt.Errorf("backbone %s: %w", name, err)
	}
	return b, nil
}

// Sequence returns a convolutional network of blocks, one after another, whose last
// gives a feature map (B, Channels, H, W), and which is fed images as input says. Batch
// normalizations of Builder have epsilon 1e-5 and momentum 0.1.
func Sequence(input Preprocessing, blocks ...Block) (Backbone, error) {
	return sequence(&trunk{pictures: input, blocks: blocks})
}

// TokenSequence is Sequence for a network whose last block gives tokens (B, T,
// Channels), of which the first is what a model takes.
func TokenSequence(input Preprocessing, blocks ...Block) (Backbone, error) {
	return sequence(&trunk{pictures: input, blocks: blocks, tokens: true})
}

func sequence(t *trunk) (Backbone, error) {
	t.eps, t.momentum = 1e-5, .1
	if err := t.pictures.check(); err != nil {
		return nil, err
	}
	if len(t.blocks) == 0 {
		return nil, errors.New("a network needs at least one block")
	}
	seen := map[string]bool{}
	for i, b := range t.blocks {
		switch {
		case b.Name == "":
			return nil, fmt.Errorf("block %d has no name", i)
		case seen[b.Name]:
			return nil, fmt.Errorf("block %d has the name of another, %q", i, b.Name)
		case b.Channels < 1:
			return nil, fmt.Errorf("block %s has %d channels, want 1 or more", b.Name, b.Channels)
		case b.Add == nil:
			return nil, fmt.Errorf("block %s has no function Add", b.Name)
		}
		seen[b.Name] = true
	}
	return t, nil
}
