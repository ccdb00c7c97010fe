package losses

import (
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Every loss with its defaults on BRM: those of a batch on 512 rows in classes
// of 4, those of classes on 180 rows and 11,318 classes (the training part of
// Stanford Online Products).
func BenchmarkLosses(b *testing.B) {
	for _, name := range ofMatrices() {
		l, err := New(name, Options{Metric: metric.Metric{Kind: metric.BRM, P: 2}, Classes: 11318, Dim: 512})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			if l.Columns() == Classes {
				benchmarkEval(b, l, proxyMatrix(180, 11318, PerClass(l)))
			} else {
				benchmarkEval(b, l, batchMatrix(512, 4))
			}
		})
	}
}

// SoftTriple with two centers a class on 180 rows and 11,318 classes.
func BenchmarkSoftTripleTwoCenters(b *testing.B) {
	l, err := New("soft-triple", Options{Metric: metric.Metric{Kind: metric.BRM, P: 2}, Params: map[string]string{"centers": "2"}})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkEval(b, l, proxyMatrix(180, 11318, 2))
}

// All triplets of 512 rows in two classes: 33 million.
func BenchmarkTripletTwoClasses(b *testing.B) {
	benchmarkEval(b, &Triplet{Margin: 0.05}, batchMatrix(512, 256))
}

func batchMatrix(rows, perClass int) *Matrix {
	rng := rand.New(rand.NewPCG(1, 1))
	m := &Matrix{Rows: rows, Cols: rows, V: make([]float64, rows*rows), SelfColumns: true}
	for i := range rows {
		m.RowLabels = append(m.RowLabels, i/perClass)
	}
	m.ColLabels = m.RowLabels
	for k := range m.V {
		m.V[k] = 0.3 + 0.4*rng.Float64()
	}
	return m
}

func proxyMatrix(rows, classes, perClass int) *Matrix {
	rng := rand.New(rand.NewPCG(1, 1))
	m := &Matrix{Rows: rows, Cols: classes * perClass, V: make([]float64, rows*classes*perClass)}
	for range rows {
		m.RowLabels = append(m.RowLabels, rng.IntN(classes))
	}
	for j := range m.Cols {
		m.ColLabels = append(m.ColLabels, j/perClass)
	}
	for k := range m.V {
		m.V[k] = 0.3 + 0.4*rng.Float64()
	}
	return m
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
