package losses_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// Rows are compared with keys of the batch and with those of earlier batches, which the
// memory keeps; the loss is that on this matrix, and its gradient reaches the rows alone.
func TestKeysTakeThePlaceOfTheBatch(t *testing.T) {
	const queue = 12
	rng := rand.New(rand.NewPCG(3, 9))
	for _, name := range []string{"ntxent", "supcon", "contrastive", "multi-similarity"} {
		for _, m := range []metric.Metric{{Kind: metric.BRM, P: 2}, {Kind: metric.Euclidean}, {Kind: metric.Cosine}} {
			l, err := losses.New(name, losses.Options{Metric: m, Classes: 100, Dim: opDim})
			if err != nil {
				t.Fatal(err)
			}
			eng := newEngine(t)
			ps := layers.NewParams(eng, 1)
			g := layers.NewGraph(eng, ps)
			in, keys := g.Input("embeddings", opRows, opDim), g.Input("keys", opRows, opDim)
			g.NeedGrad(in)
			node, err := losses.Op(g, l, in, losses.OpOptions{Metric: m, Classes: 100, Keys: keys, Memory: losses.MemoryOptions{Size: queue}})
			if err != nil {
				t.Fatal(err)
			}
			g.Backward(node.Loss, nil)
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			r := &opGraph{g: g, in: in, node: node, ps: ps}
			var columns []float32 // of all batches so far, oldest first
			var labels, items []int
			for step := range 3 {
				x, k := drawRows(rng, opRows), drawRows(rng, opRows)
				if err := eng.Write(g.Value(keys), k); err != nil {
					t.Fatal(err)
				}
				own := []int{step, step, 10, 10, 20 + step, 20 + step, 30, 30}
				got, grad := r.run(t, x, own, own)
				want := losses.Matrix{Rows: opRows, RowLabels: own, RowIDs: own, Similarity: m.Similarity(), SelfColumns: true}
				all := append(slices.Clone(k), columns...)
				want.Cols = len(all) / opDim
				want.ColLabels = append(slices.Clone(own), labels...)
				want.ColIDs = append(slices.Repeat([]int{-1}, opRows), items...)
				for i := range opRows {
					for j := range want.Cols {
						want.V = append(want.V, m.Value(x[i*opDim:(i+1)*opDim], all[j*opDim:(j+1)*opDim]))
					}
				}
				slope := make([]float64, len(want.V))
				v, err := l.Eval(&want, slope)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(got-v.Value) > 1e-4*max(1, v.Value) {
					t.Errorf("%s under %v, step %d: loss %.7g, want %.7g", name, m, step, got, v.Value)
				}
				// A row's gradient: sum over its columns of dL/dV times the metric's.
				for i := range opRows {
					d := make([]float64, opDim)
					for j := range want.Cols {
						const h = 1e-3
						for c := range opDim {
							moved := slices.Clone(x[i*opDim : (i+1)*opDim])
							moved[c] += h
							up := m.Value(moved, all[j*opDim:(j+1)*opDim])
							moved[c] -= 2 * h
							d[c] += slope[i*want.Cols+j] * (up - m.Value(moved, all[j*opDim:(j+1)*opDim])) / (2 * h)
						}
					}
					for c := range opDim {
						if g := float64(grad[i*opDim+c]); math.Abs(g-d[c]) > 2e-3*max(1, math.Abs(d[c])) {
							t.Errorf("%s under %v, step %d: gradient %d of row %d is %.5g, want %.5g", name, m, step, c, i, g, d[c])
						}
					}
				}
				if err := node.Remember(); err != nil {
					t.Fatal(err)
				}
				columns, labels, items = queued(columns, k, labels, items, own, queue)
			}
		}
	}
}

// queued adds a batch to a queue of at most size keys, in the order of its slots.
func queued(columns, k []float32, labels, items, own []int, size int) ([]float32, []int, []int) {
	full := len(labels) + len(own)
	if full <= size {
		return append(columns, k...), append(labels, own...), append(items, own...)
	}
	columns, labels, items = slices.Clone(columns), slices.Clone(labels), slices.Clone(items)
	for i := range own {
		if len(labels) < size {
			columns, labels, items = append(columns, k[i*opDim:(i+1)*opDim]...), append(labels, own[i]), append(items, own[i])
			continue
		}
		slot := (full - len(own) + i) % size
		copy(columns[slot*opDim:], k[i*opDim:(i+1)*opDim])
		labels[slot], items[slot] = own[i], own[i]
	}
	return columns, labels, items
}

func TestKeysAreForLossesOnPairs(t *testing.T) {
	eng := newEngine(t)
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	l, err := losses.New("proxy-anchor", losses.Options{Metric: metric.Metric{Kind: metric.Cosine}, Classes: 4, Dim: opDim})
	if err != nil {
		t.Fatal(err)
	}
	in := g.Input("x", opRows, opDim)
	if _, err := losses.Op(g, l, in, losses.OpOptions{Metric: metric.Metric{Kind: metric.Cosine}, Classes: 4, Keys: in}); err == nil || !strings.Contains(err.Error(), "are for losses on pairs") {
		t.Errorf("got %v", err)
	}
}
