package eval

import (
	"context"
	"fmt"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// sopSet has the size of the test set of Stanford Online Products: 11,316 classes
// with a center each if they are clustered, else rows that share nothing.
func sopSet(clustered bool) *Embeddings {
	const n, h, classes = 60502, 512, 11316
	rng := seeded(7)
	centers := make([]float32, classes*h)
	if clustered {
		for i := range centers {
			centers[i] = float32(0.45 * rng.NormFloat64())
		}
	}
	spread := 0.7
	if clustered {
		spread = 0.55
	}
	e := &Embeddings{X: make([]float32, n*h), N: n, H: h}
	for i := range n {
		c := i * classes / n
		e.Labels = append(e.Labels, c)
		for j, v := range centers[c*h : (c+1)*h] {
			e.X[i*h+j] = v + float32(spread*rng.NormFloat64())
		}
	}
	return e
}

// BenchmarkSearchAtSOPSize is Recall@K for any K, with -benchtime 1x.
func BenchmarkSearchAtSOPSize(b *testing.B) {
	for _, clustered := range []bool{true, false} {
		b.Run(fmt.Sprintf("clustered=%v", clustered), func(b *testing.B) {
			e := sopSet(clustered)
			eng := benchmarkEngine(b)
			for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {P: 2}} {
				b.Run(m.String(), func(b *testing.B) {
					for b.Loop() {
						opt := RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}, FirstOnly: !clustered}
						if _, err := Retrieve(context.Background(), eng, e, e, m, opt); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// BenchmarkKMeansAtSOPSize has a cluster for each class, five iterations.
func BenchmarkKMeansAtSOPSize(b *testing.B) {
	e := sopSet(true)
	eng := benchmarkEngine(b)
	for b.Loop() {
		if _, err := KMeans(context.Background(), eng, e, metric.Metric{Kind: metric.Euclidean}, KMeansOptions{K: 11316, MaxIterations: 5}); err != nil {
			b.Fatal(err)
		}
	}
}
