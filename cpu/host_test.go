package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// TestKeysAreFound compares the kernels that count and list with loops, at
// lengths 0 to 70, at guards, with NaN, infinities and equal numbers.
func TestKeysAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, k := range fast() {
		for n := range 71 {
			x := numbers(rng, n)
			for i := range x {
				x[i] = float32(rng.IntN(9))
				if n > 3 && i%11 == 3 {
					x[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[i%3]
				}
			}
			x = place(t, x, n%2 == 0)
			for _, limit := range []float32{0, 3, 5.5, 100, float32(math.Inf(1)), float32(math.NaN())} {
				if got, want := k.countBelow(x, limit), countBelow(x, limit); got != want {
					t.Fatalf("%s: %d of %d numbers below %v, want %d", k.name, got, n, limit, want)
				}
				got, want := make([]int32, n), make([]int32, n)
				got, want = got[:k.between(got, x, 2, limit)], want[:between(want, x, 2, limit)]
				if !slices.Equal(got, want) {
					t.Fatalf("%s: of %v in [2, %v] found %v, want %v", k.name, x, limit, got, want)
				}
			}
		}
	}
}

// TestRowValues must give to the bit what Pairwise gives.
func TestRowValues(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(25, 26))
		e := openEngine(t, variant, 2)
		for _, h := range []int{1, 19, 1100} {
			rows := embeddings(rng, 9, h, 1)
			x := rows[4*h : 5*h]
			for _, m := range metrics() {
				d := put(t, e, rng, 1, 9)
				got, index := make([]float32, 4), []int32{8, 0, 4, 4}
				err := e.RowValues(got, x, rows, index, m)
				if known := !m.Similarity() && !m.Chords(); known != (err == nil) {
					t.Fatalf("%v: %v", m, err)
				} else if !known {
					continue
				}
				must(t, e.Pairwise(d, load(t, e, x, 1, h), load(t, e, rows, 9, h), m))
				want := read(t, e, d)
				for i, j := range index {
					if got[i] != want[j] {
						t.Errorf("%v, h %d: row %d is %v away, by Pairwise %v", m, h, j, got[i], want[j])
					}
				}
			}
		}
		m := metric.Metric{Kind: metric.Euclidean}
		for _, bad := range []error{
			e.RowValues(make([]float32, 1), make([]float32, 2), make([]float32, 4), []int32{2}, m),
			e.RowValues(make([]float32, 1), make([]float32, 2), make([]float32, 3), []int32{0}, m),
			e.RowValues(make([]float32, 2), make([]float32, 2), make([]float32, 4), []int32{0}, m),
			e.RowValues(nil, nil, nil, nil, m),
		} {
			if bad == nil {
				t.Error("wrong sizes or rows are accepted")
			}
		}
	})
}
