package backbone

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// FindBlock returns the full name of the block that a name means: the block of
// that name, or the last of a group ("layer3.5" of "layer3").
func FindBlock(b Backbone, name string) (string, error) {
	blocks := b.Blocks()
	if i := lastBlock(blocks, name); i >= 0 {
		return blocks[i], nil
	}
	if len(blocks) == 0 {
		return "", fmt.Errorf("%q names no block: the network has none with a name", name)
	}
	return "", fmt.Errorf("%q names no block (there is: %s)", name, strings.Join(blocks, ", "))
}

// lastBlock is the index of the last block that a name means, or -1.
func lastBlock(blocks []string, name string) int {
	at := -1
	for i, b := range blocks {
		if b == name || name != "" && strings.HasPrefix(b, name+".") {
			at = i
		}
	}
	return at
}

// part is the range of the blocks between From and To.
func (m Mode) part(blocks []string) (first, end int) {
	end = len(blocks)
	if m.To != "" {
		end = lastBlock(blocks, m.To) + 1
	}
	if m.From != "" {
		first = lastBlock(blocks, m.From) + 1
	}
	return first, max(first, end)
}

// chain adds n blocks, one after another, that are computed again as Recompute says.
func (m Mode) chain(g *layers.Graph, x *layers.Node, n int, add func(i int, x *layers.Node) *layers.Node) *layers.Node {
	together := m.Recompute
	if together == 0 {
		together = n
	}
	for from := 0; from < n; from += together {
		blocks := func() *layers.Node {
			y := x
			for i := from; i < min(n, from+together) && y != nil; i++ {
				y = add(i, y)
			}
			return y
		}
		if m.Recompute == 0 {
			x = blocks()
		} else {
			x = g.Recompute(blocks)
		}
	}
	return x
}
