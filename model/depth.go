package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// setDepths counts the layers of the backbone from its end, for rates that fall by layer.
// A layer is a block with parameters. Where blocks are numbered ("blocks.3", "layer2.0"), all
// before the first of these are one layer, and what comes behind the last has the rate of the
// head, as timm and BEiT count.
func (m *Model) setDepths() error {
	owners := make([][]*layers.Param, len(m.net.Blocks()))
	seen := map[*layers.Param]bool{}
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	m.net.Forward(g, g.Input("images", m.InputShape(1)...), backbone.Mode{LoRA: m.Spec.LoRA, Observe: func(name string, _ *layers.Node) {
		block := slices.Index(m.net.Blocks(), name)
		if block < 0 { // a part of one
			return
		}
		for _, p := range m.Params.All() {
			if !seen[p] && g.Uses(p) {
				seen[p] = true
				owners[block] = append(owners[block], p)
			}
		}
	}})
	if err := g.Err(); err != nil {
		return fmt.Errorf("model: layers of %s: %w", m.Spec.Backbone, err)
	}
	first, last := numbered(m.net.Blocks())
	depth, stem := 0, false
	for i := len(owners) - 1; i >= 0; i-- {
		if len(owners[i]) > 0 && i <= last && !(i < first && stem) {
			depth++
			stem = i < first
		}
		for _, p := range owners[i] {
			p.Depth = depth
		}
	}
	return nil
}

// numbered returns the indices of the first and the last block whose name ends in a number
// of its own; 0 and the last block's where none does.
func numbered(blocks []string) (first, last int) {
	first, last = -1, len(blocks)-1
	for i, b := range blocks {
		if at := strings.LastIndexByte(b, '.'); at >= 0 && strings.Trim(b[at+1:], "0123456789") == "" {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return max(first, 0), last
}
