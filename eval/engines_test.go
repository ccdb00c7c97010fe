package eval

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

// engines are all that run here, each kernel variant of the CPU included.
func engines(t testing.TB) map[string]Engine {
	all := map[string]Engine{"reference": reference.New()}
	for _, variant := range cpu.Variants() {
		e, err := cpu.New(cpu.Options{Threads: 2, Variant: variant})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		all["cpu "+variant] = e
	}
	return all
}

// Every engine must keep within the rounding errors that the search allows for;
// how much of the allowance it uses is logged.
func TestEnginesKeepWithinTheErrorBound(t *testing.T) {
	base := blobs(seeded(71), 20, 3, 130, 0.7)
	sets := map[string]*Embeddings{"1e-6": scaled(base, 1e-6), "0.05": scaled(base, 0.05), "1": base, "30": scaled(base, 30), "1e6": scaled(base, 1e6), "shifted": shifted(base, 50)}
	for name, eng := range engines(t) {
		worst := 0.0
		for set, e := range sets {
			for _, m := range testMetrics() {
				s, j, err := prepare(eng, e, e, m, SearchOptions{Workers: 1}, cuts{nearest: 1})
				fatal(t, err)
				b := j.bench()
				err = s.each(context.Background(), func(_, q int, keys []float32) error {
					b.begin(q)
					for i, key := range keys {
						exact, err := b.exact(int32(i), key)
						if err != nil {
							return err
						}
						worst = max(worst, math.Abs(float64(key)+b.shift-exact)/b.err32)
					}
					return nil
				})
				if err != nil {
					t.Errorf("%s at scale %s: %v", name, set, err)
				}
			}
		}
		t.Logf("%s: largest error is %.2f of the bound", name, worst)
	}
}

// Rows of any size and place are sorted by float32 keys of SignalToNoise, but for the
// few that lie closer together than this.
func TestSignalToNoiseIsSortedInFloat32(t *testing.T) {
	base := blobs(seeded(72), 20, 3, 130, 0.7)
	for set, e := range map[string]*Embeddings{"1e-6": scaled(base, 1e-6), "1": base, "1e6": scaled(base, 1e6), "shifted": shifted(base, 50)} {
		_, j, err := prepare(hostEngine{}, e, e, metric.Metric{Kind: metric.SignalToNoise}, SearchOptions{Workers: 1}, cuts{nearest: 1})
		fatal(t, err)
		b := j.bench()
		for q := range e.N {
			if b.begin(q); !(b.err32 < 2e-4) {
				t.Fatalf("scale %s, query %d: keys err up to %.3g", set, q, b.err32)
			}
		}
	}
}

func TestEveryEngineGivesTheSameFigures(t *testing.T) {
	e := blobs(seeded(72), 25, 6, 33, 1.3)
	for _, m := range testMetrics() {
		want := bruteRetrieval(m, e, e, LeaveOneOut(e.N), Pessimistic, 0)
		for name, eng := range engines(t) {
			got, err := Retrieve(context.Background(), eng, e, e, m, RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N), Memory: 8 * 150 * 40}})
			if err != nil {
				t.Errorf("%s, %v: %v", name, m, err)
				continue
			}
			if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) {
				t.Errorf("%s, %v: ranks differ from brute force", name, m)
			}
		}
	}
}

func benchmarkEngine(b *testing.B) Engine {
	e, err := cpu.New(cpu.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// benchmarkSet has the size of half the built-in characters.
func benchmarkSet() *Embeddings { return blobs(seeded(1), 332, 10, 128, 1.6) }

func BenchmarkRetrieve(b *testing.B) {
	eng, e := benchmarkEngine(b), benchmarkSet()
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {P: 2}} {
		b.Run(m.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := Retrieve(context.Background(), eng, e, e, m, RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCluster(b *testing.B) {
	eng, e := benchmarkEngine(b), benchmarkSet()
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {P: 2}} {
		b.Run(m.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := Cluster(context.Background(), eng, e, m, KMeansOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
