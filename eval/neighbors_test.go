package eval

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// bruteNeighbors demands that an engine finds the neighbors that brute force in
// float64 finds, at their distances.
func bruteNeighbors(t *testing.T, eng Engine, name string, e *Embeddings, m metric.Metric) {
	t.Helper()
	for _, k := range []int{1, 7, e.N - 1} {
		l, err := Neighbors(context.Background(), eng, e, e, m, k, SearchOptions{Self: LeaveOneOut(e.N), Memory: 4000})
		if err != nil {
			t.Fatalf("%s, %v: %v", name, m, err)
		}
		for q := range e.N {
			want, _ := bruteOrder(m, e.Row(q), e, q, func(row int) uint64 { return uint64(row) })
			index, distance := l.Of(q)
			for i, row := range index {
				d, err := Distance(m, e.Row(q), e.Row(int(row)))
				fatal(t, err)
				if int(row) != want[i] || distance[i] != d {
					t.Fatalf("%s, %v: neighbor %d of %d is %d at %v, want %d at %v", name, m, i, q, row, distance[i], want[i], d)
				}
			}
		}
	}
}

func TestNeighborsEqualBruteForceInFloat64(t *testing.T) {
	base := blobs(seeded(11), 5, 12, 7, 0.8)
	for name, e := range map[string]*Embeddings{"plain": base, "grid": onGrid(base), "tiny": scaled(base, 1e-25), "huge": scaled(base, 1e25), "shifted": shifted(base, 300)} {
		for _, m := range testMetrics() {
			bruteNeighbors(t, hostEngine{}, name, e, m)
		}
	}
}

func TestDistanceAgreesWithTheMetric(t *testing.T) {
	e := blobs(seeded(12), 2, 4, 9, 1)
	for _, m := range testMetrics() {
		for i := range e.N {
			got, err := Distance(m, e.Row(0), e.Row(i))
			fatal(t, err)
			want := m.Value(e.Row(0), e.Row(i))
			switch m.Kind {
			case metric.Cosine:
				want = 1 - want
			case metric.Dot:
				want = -want
			}
			if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%v: distance %v, the metric says %v", m, got, want)
			}
		}
	}
}

func TestNumberOfNeighborsIsChecked(t *testing.T) {
	e := blobs(seeded(13), 2, 3, 2, 1)
	for _, k := range []int{-1, 0, 6} {
		_, err := Neighbors(context.Background(), hostEngine{}, e, e, metric.Metric{P: 2}, k, SearchOptions{Self: LeaveOneOut(6)})
		if err == nil || !strings.Contains(err.Error(), "want 1 to 5") {
			t.Errorf("k = %d: error %v", k, err)
		}
	}
	_, err := Neighbors(context.Background(), hostEngine{}, e, e, metric.Metric{P: 2}, 1, SearchOptions{Self: []int{0, 1, 2, 3, 4, 6}})
	if err == nil || !strings.Contains(err.Error(), "query 5 is said to be gallery row 6") {
		t.Errorf("Self out of range: error %v", err)
	}
	other := &Embeddings{X: make([]float32, 3), N: 1, H: 3}
	if _, err = Neighbors(context.Background(), hostEngine{}, other, e, metric.Metric{P: 2}, 1, SearchOptions{}); err == nil || !strings.Contains(err.Error(), "3 coordinates, the gallery 2") {
		t.Errorf("other dimension: error %v", err)
	}
}
