package losses

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// All triplets of 512 rows, in classes of 4 and of 256.
func BenchmarkTripletAll(b *testing.B) {
	for _, perClass := range []int{4, 256} {
		b.Run(fmt.Sprintf("rows=512/perClass=%d", perClass), func(b *testing.B) {
			benchmarkBatch(b, &Triplet{Margin: 0.2}, 512, perClass)
		})
	}
}

func BenchmarkNPairs(b *testing.B) { benchmarkBatch(b, &NPairs{Temperature: 16}, 512, 4) }

func benchmarkBatch(b *testing.B, l Loss, rows, perClass int) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := &Matrix{Rows: rows, Cols: rows, V: make([]float64, rows*rows), SelfColumns: true}
	for i := range rows {
		m.RowLabels = append(m.RowLabels, i/perClass)
	}
	m.ColLabels = m.RowLabels
	for k := range m.V {
		m.V[k] = rng.Float64()
	}
	benchmarkEval(b, l, m)
}

// A batch of 180 against the 11,318 training classes of Stanford Online Products.
func benchmarkProxies(b *testing.B, l Loss) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rows, cols = 180, 11318
	m := &Matrix{Rows: rows, Cols: cols, V: make([]float64, rows*cols), Similarity: true}
	for range rows {
		m.RowLabels = append(m.RowLabels, rng.IntN(cols))
	}
	for j := range cols {
		m.ColLabels = append(m.ColLabels, j)
	}
	for k := range m.V {
		m.V[k] = 0.3 * rng.NormFloat64()
	}
	benchmarkEval(b, l, m)
}

func BenchmarkProxyAnchor(b *testing.B) {
	benchmarkProxies(b, &ProxyAnchor{Alpha: 32, PosMargin: 0.1, NegMargin: -0.1})
}

func BenchmarkProxyAnchorBehindView(b *testing.B) {
	benchmarkProxies(b, On(AsSimilarity(brm, 1), &ProxyAnchor{Alpha: 32, PosMargin: 0.1, NegMargin: -0.1}))
}

func benchmarkEval(b *testing.B, l Loss, m *Matrix) {
	b.Helper()
	grad := make([]float64, len(m.V))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Eval(m, grad); err != nil {
			b.Fatal(err)
		}
	}
}
