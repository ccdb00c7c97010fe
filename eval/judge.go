package eval

import (
	"fmt"
	"math"
	"sync"

	"github.com/vernier-ml/vernier/metric"
)

// judge settles in float64 what float32 keys leave open. It holds what workers
// share; each worker has its own bench.
type judge struct {
	layout                 layout
	rows                   rowEngine // nil if there is none
	queries, gallery       *Embeddings
	queryNorm, galleryNorm []float64
	queryReach             []float64
	largestReach           float64
	identical              sync.Once
	firstIdentical         []int32 // by gallery row, once it is worth finding out
	// With a sketch:
	queryFacts, galleryFacts []facts
	largestFacts             facts  // of the gallery
	curve                    *curve // or nil
}

// newJudge is a judge but for what it learns when the gallery is laid out.
func newJudge(l layout, rows rowEngine, workers int, k *kept, queries, gallery *Embeddings) *judge {
	j := &judge{layout: l, rows: rows, queries: queries, gallery: gallery}
	if l.metric.Kind == metric.Cosine { // which alone asks for them
		j.galleryNorm = k.norms(workers, gallery)
		j.queryNorm = j.galleryNorm
		if queries != gallery {
			j.queryNorm = norms(workers, queries)
		}
	}
	if !l.expand {
		j.setReach(k.reaches(l, workers, gallery))
	}
	if queries != gallery {
		j.queryReach = l.reach(workers, queries)
	}
	if s := l.sketch; s != nil {
		j.curve = newCurve(l.metric, float64(s.knots)*s.step)
		if queries != gallery {
			j.queryFacts = s.allFacts(workers, queries)
		}
	}
	return j
}

func (j *judge) setReach(reach []float64) {
	for _, r := range reach {
		j.largestReach = max(j.largestReach, r)
	}
	if j.queries == j.gallery {
		j.queryReach = reach
	}
}

// learn takes what was found out while the gallery was laid out.
func (j *judge) learn(found learned) {
	if found.reach != nil {
		j.setReach(found.reach)
	}
	if found.facts == nil {
		return
	}
	j.galleryFacts, j.largestFacts = found.facts, largest(found.facts)
	if j.queries == j.gallery {
		j.queryFacts = found.facts
	}
}

// manyExact is how many exact keys of one query are computed before it is found out which
// rows are the same: with a set that has collapsed it would be all.
const manyExact = 256

// bench is one worker's cache of the exact keys of one query.
type bench struct {
	*judge
	query int
	// A block's key plus shift is within blockErr of the key; so is a key that
	// refine gives, without shift, within err32. Without a sketch they are the same
	// keys.
	shift, blockErr, err32 float64
	key                    []float64 // by row, and by first identical row once there are many
	seen                   []int32   // query+1 for which key is valid
	computed               int       // keys of this query
	fine                   []float32
}

func (j *judge) bench() *bench {
	return &bench{judge: j, key: make([]float64, j.gallery.N), seen: make([]int32, j.gallery.N)}
}

func (b *bench) begin(query int) {
	b.query, b.computed = query, 0
	b.err32 = b.layout.keyError(b.queryReach[query], b.largestReach, b.gallery.H)
	if s := b.layout.sketch; s != nil {
		b.shift, b.blockErr = b.queryFacts[query].mean, s.error(b.queryFacts[query], b.largestFacts)
		return
	}
	b.shift, b.blockErr = b.layout.shift(b.queryReach[query]), b.err32
}

// refine returns the keys of rows in float32, which with a sketch a block's are
// not. It holds the sketch to its bound. The result is valid until the next call.
func (b *bench) refine(rows []int32, keys []float32) ([]float32, error) {
	b.fine = append(b.fine[:0], make([]float32, len(rows))...)
	if err := b.rows.RowValues(b.fine, b.queries.Row(b.query), b.gallery.X, rows, b.layout.kernel); err != nil {
		return nil, err
	}
	for i, row := range rows {
		if miss := math.Abs(float64(keys[row]) + b.shift - float64(b.fine[i])); !(miss <= b.blockErr+b.err32) {
			return nil, fmt.Errorf("eval: %v between query %d and gallery row %d is off by %.3g where %.3g was thought possible: "+
				"the engine's products are not those of float32", b.layout.metric, b.query, row, miss, b.blockErr)
		}
	}
	return b.fine, nil
}

// rowError is blockErr of one gallery row.
func (b *bench) rowError(row int32) float64 {
	if s := b.layout.sketch; s != nil {
		return s.errorOf(b.queryFacts[b.query], b.largestFacts, b.galleryFacts[row].slack)
	}
	return b.blockErr
}

// tighten lowers err32 of sums for keys that are at most key.
func (b *bench) tighten(key float64) {
	terms := b.gallery.H
	if b.layout.sketch != nil {
		terms /= 16 // see rowEngine
	}
	b.err32 = min(b.err32, b.layout.rowKeyError(key, terms))
}

// normOf is a row's norm, where the metric asks for it.
func normOf(norms []float64, row int) float64 {
	if norms == nil {
		return 0
	}
	return norms[row]
}

// exact returns the key of gallery row i in float64, and holds the engine to
// its error bound: a key beyond it would have been sorted wrongly elsewhere. With a
// sketch key32 is from refine.
func (b *bench) exact(i int32, key32 float32) (float64, error) {
	rep := i
	if b.computed >= manyExact {
		b.identical.Do(func() { b.firstIdentical = firstIdentical(b.gallery) })
		rep = b.firstIdentical[i]
	}
	if b.seen[rep] != int32(b.query)+1 {
		b.computed++
		b.key[rep] = b.layout.exactKey(b.queries.Row(b.query), b.gallery.Row(int(rep)), normOf(b.queryNorm, b.query), normOf(b.galleryNorm, int(rep)))
		b.seen[rep] = int32(b.query) + 1
	}
	key, shift := b.key[rep], b.shift
	if b.layout.sketch != nil {
		shift = 0
	}
	if miss := math.Abs(float64(key32) + shift - key); miss > b.err32 {
		return 0, fmt.Errorf("eval: the engine's %v between query %d and gallery row %d is off by %.3g, more than float32 arithmetic can be (%.3g): "+
			"use an engine that computes distances in float32", b.layout.kernel, b.query, i, miss, b.err32)
	}
	return key, nil
}
