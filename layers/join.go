package layers

import "github.com/vernier-ml/vernier/engine"

// On a Joiner a map that is only computed to be joined with others is written where it
// is in the joined map.

// part is channels of an output, from the given one on.
type part struct {
	whole output
	from  int
}

// parts returns the outputs that can be parts of others, by the reads of the graph's
// ops.
func (g *Graph) parts(p *plan, last map[output]int) map[output]part {
	list := map[output]part{}
	if _, ok := g.eng.(engine.Joiner); !ok || g.unfused {
		return list
	}
	reads := map[output]int{}
	for _, o := range g.ops {
		if o.alias != nil {
			continue
		}
		for _, n := range o.in {
			if out, ok := g.outputOf(n); ok {
				reads[out]++
			}
		}
	}
	for _, o := range g.ops {
		if o.kind != KindConcat || len(o.shapes[0]) != 4 {
			continue
		}
		whole, from := output{o, 0}, 0
		for _, n := range o.in {
			out, ok := g.outputOf(n)
			if ok && out.op.joinable && reads[out] == 1 && !p.readable[out] && p.narrow[out] == p.narrow[whole] && last[out] == o.id {
				list[out] = part{whole, from}
			}
			from += n.Shape()[1]
		}
	}
	return list
}
