package reference

import (
	"github.com/vernier-ml/vernier/engine"
)

// sequence is the layout of tokens: batch of prefix rows and area positions.
type sequence struct{ batch, prefix, area, width int }

// tokens unwraps a map (B, D, H, W) or nil, a prefix (1, P, D) or nil, and a
// position embedding or nil, for tokens y.
func (c *call) tokens(y, x, prefix, pos engine.Tensor) (to, from, first, place array, s sequence) {
	to = c.of("y", y, -1, -1, -1)
	if c.err != nil {
		return
	}
	s = sequence{batch: to.shape[0], width: to.shape[2]}
	if first = c.maybe("prefix", prefix, 1, -1, s.width); first.v != nil && c.err == nil {
		s.prefix = first.shape[1]
	}
	s.area = to.shape[1] - s.prefix
	if from = c.maybe("x", x, s.batch, s.width, -1, -1); from.v != nil && c.err == nil {
		c.check(from.shape[2]*from.shape[3] == s.area, "%v has %d positions, %v takes %d behind %d rows of prefix", from, from.shape[2]*from.shape[3], to, s.area, s.prefix)
	}
	place = c.maybe("pos", pos, 1, to.shape[1], s.width)
	return
}

// each calls f for every element of the tokens, with its place in y, in a
// single image, and in the map (negative for one of the prefix).
func (s sequence) each(f func(y, place, x int)) {
	length := s.prefix + s.area
	for n := range s.batch {
		for t := range length {
			for j := range s.width {
				x := -1
				if t >= s.prefix {
					x = (n*s.width+j)*s.area + t - s.prefix
				}
				f((n*length+t)*s.width+j, t*s.width+j, x)
			}
		}
	}
}

// Tokens turns a map into tokens.
func (Engine) Tokens(y, x, prefix, pos engine.Tensor) error {
	c := call{op: "tokens"}
	c.any("x", x)
	to, from, first, place, s := c.tokens(y, x, prefix, pos)
	if c.err != nil {
		return c.err
	}
	s.each(func(i, p, source int) {
		v := float32(0)
		if source < 0 {
			v = first.v[p]
		} else {
			v = from.v[source]
		}
		if place.v != nil {
			v += place.v[p]
		}
		to.v[i] = v
	})
	return nil
}

// TokensGrad is the gradient of Tokens. Without a prefix or a map the other
// says how many rows of prefix there are; with the position embedding alone it
// makes no difference.
func (Engine) TokensGrad(dx, dprefix, dpos, dy engine.Tensor) error {
	c := call{op: "tokens gradient"}
	up := c.of("dy", dy, -1, -1, -1)
	if c.err != nil {
		return c.err
	}
	s := sequence{batch: up.shape[0], width: up.shape[2]}
	from := c.maybe("dx", dx, s.batch, s.width, -1, -1)
	first := c.maybe("dprefix", dprefix, 1, -1, s.width)
	place := c.maybe("dpos", dpos, 1, up.shape[1], s.width)
	if c.err != nil {
		return c.err
	}
	switch {
	case from.v != nil:
		s.prefix = up.shape[1] - from.shape[2]*from.shape[3]
	case first.v != nil:
		s.prefix = first.shape[1]
	}
	s.area = up.shape[1] - s.prefix
	c.check(s.prefix >= 0 && s.area >= 0, "%v does not fit %v", from, up)
	c.check(first.v == nil || first.shape[1] == s.prefix, "%v, want %d rows of prefix for %v", first, s.prefix, up)
	if c.err != nil {
		return c.err
	}
	prefixSum, placeSum := make([]float64, len(first.v)), make([]float64, len(place.v))
	s.each(func(i, p, source int) {
		g := up.v[i]
		if place.v != nil {
			placeSum[p] += float64(g)
		}
		switch {
		case source >= 0 && from.v != nil:
			from.v[source] = g
		case source < 0 && first.v != nil:
			prefixSum[p] += float64(g)
		}
	})
	if first.v != nil {
		round(first, prefixSum)
	}
	if place.v != nil {
		round(place, placeSum)
	}
	return nil
}

// Token picks token i of every image.
func (Engine) Token(y, x engine.Tensor, i int) error {
	c := call{op: "token"}
	in := c.of("x", x, -1, -1, -1)
	if c.err != nil {
		return c.err
	}
	out := c.of("y", y, in.shape[0], in.shape[2])
	c.check(i >= 0 && i < in.shape[1], "no token %d in %v", i, in)
	if c.err != nil {
		return c.err
	}
	d := in.shape[2]
	for n := range in.shape[0] {
		copy(out.v[n*d:(n+1)*d], in.v[(n*in.shape[1]+i)*d:])
	}
	return nil
}

// TokenGrad is the gradient of Token.
func (Engine) TokenGrad(dx, dy engine.Tensor, i int) error {
	c := call{op: "token gradient"}
	to := c.of("dx", dx, -1, -1, -1)
	if c.err != nil {
		return c.err
	}
	up := c.of("dy", dy, to.shape[0], to.shape[2])
	c.check(i >= 0 && i < to.shape[1], "no token %d in %v", i, to)
	if c.err != nil {
		return c.err
	}
	d := to.shape[2]
	clear(to.v)
	for n := range to.shape[0] {
		copy(to.v[(n*to.shape[1]+i)*d:][:d], up.v[n*d:(n+1)*d])
	}
	return nil
}
