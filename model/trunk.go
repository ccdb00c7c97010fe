package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// InputShape is the shape of what Forward takes for n images: (n, 3, size, size),
// that of a block's outputs after Enter, or for n rows of numbers (n, width).
func (m *Model) InputShape(n int) []int {
	if width := m.Width(); width > 0 {
		return []int{n, width}
	}
	if m.entry != "" {
		return append([]int{n}, m.shape...)
	}
	return []int{n, 3, m.Spec.Input.Size, m.Spec.Input.Size}
}

// Width is the length of the rows of numbers that the model takes in place of images;
// 0 for a model of images.
func (m *Model) Width() int {
	width, _ := backbone.TakesRows(m.net)
	return width
}

// Enter makes the network begin after a block: Forward, Raw and NewEmbedder then
// take the outputs of that block, which NewTrunk computes, in place of images.
// An empty name makes it begin with images again. Graphs built before do not
// notice.
func (m *Model) Enter(block string) error {
	if block == "" {
		m.entry = ""
		return nil
	}
	full, err := backbone.FindBlock(m.net, block)
	if err != nil {
		return fmt.Errorf("backbone %s: %w", m.Spec.Backbone, err)
	}
	_, _, x, err := m.trunk(full, 1)
	if err != nil {
		return err
	}
	m.entry, m.shape = full, slices.Clone(x.Shape()[1:])
	return nil
}

// NewTrunk returns an Embedder whose rows are not embeddings but the outputs of a
// block, in evaluation mode: what Forward takes after Enter.
func (m *Model) NewTrunk(block string, batch int) (*Embedder, error) {
	full, err := backbone.FindBlock(m.net, block)
	if err != nil {
		return nil, fmt.Errorf("backbone %s: %w", m.Spec.Backbone, err)
	}
	return newEmbedder(batch, func(n int) (g *layers.Graph, images, features *layers.Node, err error) {
		return m.trunk(full, n)
	})
}

// Shape is that of a row: channels, height and width of a map, 1, tokens and
// features of a transformer's tokens, 1, 1 and h of an embedding.
func (e *Embedder) Shape() [3]int {
	s := e.e.Shape()[1:]
	shape := [3]int{1, 1, 1}
	copy(shape[3-len(s):], s)
	return shape
}

// TrunkDigest is the SHA-256, in hexadecimal, of the parameters up to a block, by
// which outputs of that block are known.
func (m *Model) TrunkDigest(block string) (string, error) {
	names, err := m.upTo(block)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, p := range m.Params.All() {
		if !names[p.Name] || isLoRA(p) {
			continue
		}
		t, err := m.stored(p)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q\n", p.Name)
		if _, err := t.WriteTo(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// upTo lists the parameters of the backbone up to a block; none for an empty
// name.
func (m *Model) upTo(block string) (map[string]bool, error) {
	if block == "" {
		return nil, nil
	}
	full, err := backbone.FindBlock(m.net, block)
	if err != nil {
		return nil, fmt.Errorf("backbone %s: %w", m.Spec.Backbone, err)
	}
	g, _, _, err := m.trunk(full, 1)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, p := range m.Params.All() {
		if g.Uses(p) {
			names[p.Name] = true
		}
	}
	return names, nil
}

// trunk builds the network up to a block for n images, in evaluation mode.
func (m *Model) trunk(block string, n int) (g *layers.Graph, images, features *layers.Node, err error) {
	g = layers.NewGraph(m.Params.Engine(), m.Params)
	images = g.Input("images", n, 3, m.Spec.Input.Size, m.Spec.Input.Size)
	features = m.net.Forward(g, images, backbone.Mode{To: block, LoRA: m.Spec.LoRA})
	if err := g.Err(); err != nil {
		return nil, nil, nil, fmt.Errorf("model: %s at %d pixels: %w", m.Spec.Backbone, m.Spec.Input.Size, err)
	}
	return g, images, features, nil
}
