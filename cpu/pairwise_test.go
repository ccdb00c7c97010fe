package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// metrics lists every metric with both powers.
func metrics() []metric.Metric {
	var ms []metric.Metric
	for _, info := range metric.Infos() {
		if info.Metric.Kind != metric.BRM {
			ms = append(ms, info.Metric)
		}
	}
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		for p := 1; p <= 2; p++ {
			for _, power := range []bool{false, true} {
				for _, omega := range []float64{0.5, 3} {
					if r == metric.ISRU || omega == 3 {
						ms = append(ms, metric.Metric{Kind: metric.BRM, Restriction: r, P: p, Power: power, Omega: omega})
					}
				}
			}
		}
	}
	return ms
}

// embeddings returns n rows of which the second equals the first, the third
// shares half of it, and the last is its negative.
func embeddings(rng *rand.Rand, n, h int, scale float64) []float32 {
	x := numbers(rng, n*h)
	for i := range x {
		x[i] = float32(float64(x[i]) * scale)
	}
	if n > 3 {
		copy(x[h:2*h], x[:h])
		copy(x[2*h:2*h+h/2], x)
		for c := range h {
			x[(n-1)*h+c] = -x[c]
		}
	}
	return x
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// TestMetricsAtEveryScale compares values and gradients with float64. Distances
// must also keep their relative precision.
func TestMetricsAtEveryScale(t *testing.T) {
	const n, k = 7, 9
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(5, 6))
		e := openEngine(t, variant, 2)
		for i, scale := range []float64{1e-30, 1e-18, 1e-5, 0.01, 0.3, 1, 30, 1e4, 1e18, 1e30} {
			hs := []int{1, 3, 16, 37, 64, 129}
			if draws(6) == 1 {
				hs = hs[i%6:][:1]
			}
			for _, h := range hs {
				for _, m := range metrics() {
					a, b := embeddings(rng, n, h, scale), embeddings(rng, k, h, scale)
					copy(b[:h], a[:h])
					at, bt := load(t, e, a, n, h), load(t, e, b, k, h)
					d, dd := put(t, e, rng, n, k), put(t, e, rng, n, k)
					must(t, e.Pairwise(d, at, bt, m))
					got, up := read(t, e, d), read(t, e, dd)
					what := fmt.Sprintf("%+v, h %d, scale %g", m, h, scale)
					for i := range n {
						for j := range k {
							want := m.Value(a[i*h:(i+1)*h], b[j*h:(j+1)*h])
							limit := 4e-6*math.Abs(want) + 1e-38
							if m.Kind == metric.BRM && !m.Power {
								limit = math.Min(limit, 2e-6)
							}
							if m.Similarity() {
								limit = 1e-6 * math.Max(1, float64(h)*scale*scale)
								if m.Kind == metric.Cosine {
									limit = 1e-6
								}
							}
							if w := saturate(want); !(math.Abs(float64(got[i*k+j])-float64(w)) <= limit) && w != got[i*k+j] {
								t.Fatalf("%s: value (%d, %d) is %v, want %v", what, i, j, got[i*k+j], w)
							}
						}
					}
					wa, wb := make([]float64, n*h), make([]float64, k*h)
					for i := range n {
						for j := range k {
							m.Gradient(wa[i*h:(i+1)*h], wb[j*h:(j+1)*h], float64s(a[i*h:(i+1)*h]), float64s(b[j*h:(j+1)*h]), float64(up[i*k+j]))
						}
					}
					da, db := put(t, e, rng, n, h), put(t, e, rng, k, h)
					must(t, e.PairwiseGrad(da, db, dd, d, at, bt, m))
					ga, gb, wantA, wantB := read(t, e, da), read(t, e, db), narrow(wa), narrow(wb)
					if scale >= 30 { // where all R are flat, a table's slopes are within 5e-7 and not their share
						ga, gb, wantA, wantB = append(ga, 0.05), append(gb, 0.05), append(wantA, 0.05), append(wantB, 0.05)
					}
					near(t, what+": da", ga, wantA, 1e-5)
					near(t, what+": db", gb, wantB, 1e-5)
					if t.Failed() {
						t.FailNow()
					}
				}
			}
		}
	})
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = saturate(v)
	}
	return y
}

// TestPairwiseOfOneTensor compares the symmetric path with the general one.
func TestPairwiseOfOneTensor(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(7, 8))
		e := openEngine(t, variant, 2)
		for _, n := range []int{1, 5, 70, 130}[:1+draws(3)] {
			for _, h := range []int{1, 33} {
				for _, m := range metrics() {
					x := embeddings(rng, n, h, 1)
					a, b := load(t, e, x, n, h), load(t, e, x, n, h)
					d1, d2, dd := put(t, e, rng, n, n), put(t, e, rng, n, n), put(t, e, rng, n, n)
					must(t, e.Pairwise(d1, a, a, m))
					must(t, e.Pairwise(d2, a, b, m))
					what := fmt.Sprintf("%+v, %d rows of %d", m, n, h)
					if err := compare(read(t, e, d1), read(t, e, d2), 2e-7); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					da, db, sum := put(t, e, rng, n, h), put(t, e, rng, n, h), put(t, e, rng, n, h)
					must(t, e.PairwiseGrad(da, db, dd, d2, a, b, m))
					must(t, e.Add(da, da, db))
					must(t, e.PairwiseGrad(sum, sum, dd, d1, a, a, m))
					if err := compare(read(t, e, sum), read(t, e, da), 5e-6); err != nil {
						t.Fatalf("%s: gradient: %v", what, err)
					}
				}
			}
		}
	})
}

// TestPairwiseOfNaN demands that NaN shows, and only where it belongs.
func TestPairwiseOfNaN(t *testing.T) {
	const n, h = 5, 20
	nan := float32(math.NaN())
	eachVariant(t, func(t *testing.T, variant string) {
		rng := rand.New(rand.NewPCG(9, 10))
		e := openEngine(t, variant, 2)
		for _, m := range metrics() {
			x := embeddings(rng, n, h, 1)
			x[3*h+17] = nan
			a := load(t, e, x, n, h)
			d, dd, da := put(t, e, rng, n, n), put(t, e, rng, n, n), put(t, e, rng, n, h)
			must(t, e.Pairwise(d, a, a, m))
			for i, v := range read(t, e, d) {
				if bad := i/n == 3 || i%n == 3; bad != (v != v) {
					t.Errorf("%+v: value (%d, %d) is %v", m, i/n, i%n, v)
				}
			}
			must(t, e.PairwiseGrad(da, da, dd, d, a, a, m))
			if g := read(t, e, da); g[3*h+17] == g[3*h+17] {
				t.Errorf("%+v: the gradient of a NaN coordinate is %v", m, g[3*h+17])
			}
		}
	})
}
