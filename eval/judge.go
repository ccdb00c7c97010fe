package eval

import (
	"fmt"
	"math"
)

// judge settles in float64 what float32 keys leave open. It holds what workers
// share; each worker has its own bench.
type judge struct {
	layout                 layout
	queries, gallery       *Embeddings
	queryNorm, galleryNorm []float64
	queryReach             []float64
	largestReach           float64
	firstIdentical         []int32 // by gallery row
}

func newJudge(l layout, queries, gallery *Embeddings) *judge {
	j := &judge{layout: l, queries: queries, gallery: gallery, galleryNorm: norms(gallery), firstIdentical: firstIdentical(gallery)}
	reach := l.reach(gallery)
	for _, r := range reach {
		j.largestReach = max(j.largestReach, r)
	}
	j.queryNorm, j.queryReach = j.galleryNorm, reach
	if queries != gallery {
		j.queryNorm, j.queryReach = norms(queries), l.reach(queries)
	}
	return j
}

// bench is one worker's cache of the exact keys of one query.
type bench struct {
	*judge
	query int
	// err32 bounds the error of the query's float32 keys, which lack shift.
	err32, shift float64
	key          []float64 // by first identical row
	seen         []int32   // query+1 for which key is valid
}

func (j *judge) bench() *bench {
	return &bench{judge: j, key: make([]float64, j.gallery.N), seen: make([]int32, j.gallery.N)}
}

func (b *bench) begin(query int) {
	b.query = query
	b.err32 = b.layout.keyError(b.queryReach[query], b.largestReach, b.gallery.H)
	b.shift = b.layout.shift(b.queryReach[query])
}

// exact returns the key of gallery row i in float64, and holds the engine to
// its error bound: a key beyond it would have been sorted wrongly elsewhere.
func (b *bench) exact(i int32, key32 float32) (float64, error) {
	rep := b.firstIdentical[i]
	if b.seen[rep] != int32(b.query)+1 {
		b.key[rep] = b.layout.exactKey(b.queries.Row(b.query), b.gallery.Row(int(rep)), b.queryNorm[b.query], b.galleryNorm[rep])
		b.seen[rep] = int32(b.query) + 1
	}
	key := b.key[rep]
	if miss := math.Abs(float64(key32) + b.shift - key); miss > b.err32 {
		return 0, fmt.Errorf("eval: the engine's %v between query %d and gallery row %d is off by %.3g, more than float32 arithmetic can be (%.3g): "+
			"use an engine that computes distances in float32", b.layout.kernel, b.query, i, miss, b.err32)
	}
	return key, nil
}
