package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// sequence is the layout of tokens: batch images of prefix rows and area
// positions, each width numbers.
type sequence struct{ batch, prefix, area, width int }

// image returns the tokens of one image behind the prefix, and the prefix.
func (s sequence) image(v []float32, n int) (prefix, rest []float32) {
	size := (s.prefix + s.area) * s.width
	v = v[n*size:][:size]
	return v[:s.prefix*s.width], v[s.prefix*s.width:]
}

// Tokens turns a map into tokens.
func (e *Engine) Tokens(y, x, prefix, pos engine.Tensor) error {
	g := args{op: "tokens"}
	d, s := g.get("y", y, 3), g.get("x", x, 4)
	first, place := g.maybe("prefix", prefix, 3), g.maybe("pos", pos, 3)
	if g.err != nil {
		return g.err
	}
	q := sequence{batch: s.shape[0], width: s.shape[1], area: s.shape[2] * s.shape[3]}
	if first.v != nil {
		q.prefix = first.shape[1]
	}
	g.want(first, s, 1, q.prefix, q.width)
	g.want(d, s, q.batch, q.prefix+q.area, q.width)
	g.want(place, d, 1, q.prefix+q.area, q.width)
	g.apart(d, s, first, place)
	if g.err != nil {
		return g.err
	}
	e.pool.run(q.batch, func(_, n int) {
		head, rest := q.image(d.v, n)
		copy(head, first.v)
		moveTransposed(e.kernels, rest, q.width, s.v[n*q.width*q.area:], q.area, q.width, q.area)
		if place.v != nil {
			at, all := place.v, d.v[n*len(place.v):][:len(place.v)]
			e.kernels.add(all, all, at)
		}
	})
	return nil
}

// moveTransposed sets dst[c*dstStride+r] = src[r*srcStride+c] for r < rows and
// c < cols, square by square, so that both sides stay in the cache.
func moveTransposed(kr *kernels, dst []float32, dstStride int, src []float32, srcStride, rows, cols int) {
	for c := 0; c < cols; c += kr.nr {
		for r := 0; r < rows; r += kr.nr {
			n := min(kr.nr, rows-r)
			kr.transpose(dst[c*dstStride+r:], dstStride, src[r*srcStride+c:], srcStride, n, min(kr.nr, cols-c), n)
		}
	}
}

// TokensGrad is the gradient of Tokens.
func (e *Engine) TokensGrad(dx, dprefix, dpos, dy engine.Tensor) error {
	g := args{op: "tokens gradient"}
	u := g.get("dy", dy, 3)
	d, first, place := g.maybe("dx", dx, 4), g.maybe("dprefix", dprefix, 3), g.maybe("dpos", dpos, 3)
	if g.err != nil {
		return g.err
	}
	q := sequence{batch: u.shape[0], width: u.shape[2]}
	switch {
	case d.v != nil:
		q.area = d.shape[2] * d.shape[3]
		q.prefix = u.shape[1] - q.area
	case first.v != nil:
		q.prefix = first.shape[1]
		q.area = u.shape[1] - q.prefix
	}
	if q.prefix < 0 || q.area < 0 {
		g.fail("%v and %v do not fit %v", d, first, u)
	}
	if d.v != nil {
		g.want(d, u, q.batch, q.width, d.shape[2], d.shape[3])
	}
	g.want(first, u, 1, q.prefix, q.width)
	g.want(place, u, 1, u.shape[1], q.width)
	for _, to := range []view{d, first, place} {
		g.apart(to, u)
	}
	if g.err != nil {
		return g.err
	}
	if d.v != nil {
		e.pool.run(q.batch, func(_, n int) {
			_, rest := q.image(u.v, n)
			moveTransposed(e.kernels, d.v[n*q.width*q.area:], q.area, rest, q.width, q.area, q.width)
		})
	}
	e.sumImages(place.v, u.v, u.shape[1]*q.width)
	e.sumImages(first.v, u.v, u.shape[1]*q.width)
	return nil
}

// sumImages sets dst to the sum of x[:len(dst)], x[stride:], ...
func (e *Engine) sumImages(dst, x []float32, stride int) {
	e.pool.spans(len(dst), func(i, j int) {
		for k := i; k < j; k++ {
			total := 0.0
			for at := k; at < len(x); at += stride {
				total += float64(x[at])
			}
			dst[k] = float32(total)
		}
	})
}

// Token picks token i of every image.
func (e *Engine) Token(y, x engine.Tensor, i int) error {
	g := args{op: "token"}
	d, s := g.get("y", y, 2), g.get("x", x, 3)
	g.token(d, s, i)
	if g.err != nil {
		return g.err
	}
	w, stride := s.shape[2], s.shape[1]*s.shape[2]
	for n := range s.shape[0] {
		copy(d.v[n*w:(n+1)*w], s.v[n*stride+i*w:])
	}
	return nil
}

// token demands that row (B, D) and all (B, T, D) fit each other and token i.
func (g *args) token(row, all view, i int) {
	if g.err != nil {
		return
	}
	g.want(row, all, all.shape[0], all.shape[2])
	if i < 0 || i >= all.shape[1] {
		g.fail("no token %d in %v", i, all)
	}
	g.apart(row, all)
}

// TokenGrad is the gradient of Token.
func (e *Engine) TokenGrad(dx, dy engine.Tensor, i int) error {
	g := args{op: "token gradient"}
	d, u := g.get("dx", dx, 3), g.get("dy", dy, 2)
	g.token(u, d, i)
	if g.err != nil {
		return g.err
	}
	w, stride := d.shape[2], d.shape[1]*d.shape[2]
	clear(d.v)
	for n := range d.shape[0] {
		copy(d.v[n*stride+i*w:][:w], u.v[n*w:(n+1)*w])
	}
	return nil
}
