package backbone_test

import (
	"math"
	"slices"
	"strings"
)

// generator is the portable one of the reference numbers: every value follows
// from a seed, a name and an index.
type generator struct{ seed string }

// key is FNV-1a of "seed/name".
func (g generator) key(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range []byte(g.seed + "/" + name) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return h
}

// uniform returns n numbers in [-1, 1), exact in float32.
func (g generator) uniform(name string, n int) []float32 {
	key := g.key(name)
	u := make([]float32, n)
	for i := range u {
		s := key + uint64(i+1)*0x9e3779b97f4a7c15
		s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
		s = (s ^ s>>27) * 0x94d049bb133111eb
		s ^= s >> 31
		u[i] = float32(float64(s>>40)/(1<<23) - 1)
	}
	return u
}

// halves are the last parts of names whose values lie in [-1/2, 1/2).
func halves() []string {
	return strings.Fields("cls_token pos_embed class_token class_embedding pos_embedding positional_embedding position_embeddings register_tokens reg_token mask_token gamma lambda1 layer_scale")
}

// fill returns the values of a parameter, by its name and shape.
func (g generator) fill(name string, shape []int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	u := g.uniform(name, n)
	offset, factor := 0., 0.
	switch last := name[strings.LastIndexByte(name, '.')+1:]; {
	case last == "running_mean":
		factor = .1
	case last == "running_var":
		offset, factor = 1, .5
	case last == "num_batches_tracked":
	case slices.Contains(halves(), last):
		factor = .5
	case len(shape) == 1 && last == "weight":
		offset, factor = 1, .1
	case len(shape) == 1:
		factor = .1
	default:
		factor = math.Sqrt(6 / float64(n/shape[0]))
	}
	for i, v := range u {
		u[i] = float32(offset + factor*float64(v))
	}
	return u
}
