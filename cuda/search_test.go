//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// clusters draws classes of rows around random centers, the last of each a copy of
// its first.
func clusters(rng *rand.Rand, classes, each, h int, spread float64) *eval.Embeddings {
	e := &eval.Embeddings{N: classes * each, H: h}
	for c := range classes {
		center := make([]float64, h)
		for i := range center {
			center[i] = rng.NormFloat64()
		}
		first := len(e.X)
		for n := range each {
			for i, v := range center {
				x := float32(v + spread*rng.NormFloat64())
				if n > 0 && n == each-1 {
					x = e.X[first+i]
				}
				e.X = append(e.X, x)
			}
			e.Labels = append(e.Labels, c)
		}
	}
	return e
}

// A search on the device finds what one on the CPU finds, ties included, and brings
// less than the distances to the host.
func TestASearchOnTheDeviceIsThatOfTheCPU(t *testing.T) {
	eng, _, _ := newFake(t, Options{Precision: BF16})
	searchAgrees(t, eng, []searchCase{
		{2, 2, 1, 1, []metric.Metric{{P: 2}, {Kind: metric.Dot}, {Kind: metric.SignalToNoise}}},
		{9, 5, 20, 1, []metric.Metric{{P: 2}, {P: 1, Restriction: metric.ArcTan}, {Kind: metric.Cosine}}},
		{6, 11, 33, 1e-4, []metric.Metric{{P: 2}, {Kind: metric.Euclidean}, {Kind: metric.Lorentz, Curvature: 1}}},
		{2, 40, 4, .3, []metric.Metric{{P: 2}, {Kind: metric.Dot}}},
	})
}

// searchCase is a set of clusters and the metrics by which it is searched.
type searchCase struct {
	classes, each, h int
	spread           float64
	metrics          []metric.Metric
}

func searchAgrees(t *testing.T, eng *Engine, cases []searchCase) {
	t.Helper()
	ref, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close()
	ctx := context.Background()
	for _, shape := range cases {
		e := clusters(rand.New(rand.NewPCG(1, uint64(shape.h))), shape.classes, shape.each, shape.h, shape.spread)
		for _, m := range shape.metrics {
			opt := eval.SearchOptions{Self: eval.LeaveOneOut(e.N), Memory: int64(4 * e.N * (e.N/2 + 3))}
			for _, k := range []int{1, min(5, e.N-1), e.N - 1} {
				want, err := eval.Neighbors(ctx, ref, e, e, m, k, opt)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.Neighbors(ctx, eng, e, e, m, k, opt)
				if err != nil {
					t.Fatalf("%v of %+v: %v", m, shape, err)
				}
				if !slices.Equal(got.Index, want.Index) || !slices.Equal(got.Distance, want.Distance) {
					t.Errorf("%v of %+v: the %d nearest differ from the CPU's", m, shape, k)
				}
			}
			for _, first := range []bool{false, true} {
				opt := eval.RetrievalOptions{SearchOptions: opt, Ties: eval.IndexOrder, FirstOnly: first}
				want, err := eval.Retrieve(ctx, ref, e, e, m, opt)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.Retrieve(ctx, eng, e, e, m, opt)
				if err != nil {
					t.Fatalf("%v of %+v: %v", m, shape, err)
				}
				if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) || got.Tied != want.Tied {
					t.Errorf("%v of %+v: ranks differ from the CPU's", m, shape)
				}
			}
			if _, err := eval.Neighbors(ctx, eng, e, e, m, e.N, opt); err == nil || !strings.Contains(err.Error(), "neighbors asked for") {
				t.Errorf("more neighbors than rows: %v", err)
			}
		}
	}
}

func matrix(t *testing.T, e *Engine, x []float32, rows int) engine.Tensor {
	t.Helper()
	d, err := e.New(rows, len(x)/rows)
	if err == nil {
		err = e.Write(d, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheLeastOfEveryRow(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	before := dev.Calls["Download"]
	leastAgrees(t, eng)
	if got := dev.Calls["Download"] - before; got != 2 {
		t.Errorf("%d downloads, want those of columns and values", got)
	}
}

func leastAgrees(t *testing.T, eng *Engine) {
	t.Helper()
	const rows, n = 70, 300
	x := make([]float32, rows*n)
	for i := range x {
		x[i] = float32((i*7919 + i/n*31) % 211)
	}
	columns, values, err := eng.Least(matrix(t, eng, x, rows))
	if err != nil {
		t.Fatal(err)
	}
	for r := range rows {
		row := x[r*n : (r+1)*n]
		if want := slices.Min(row); values[r] != want || int(columns[r]) != slices.Index(row, want) {
			t.Errorf("row %d: %v at %d, want %v at %d", r, values[r], columns[r], want, slices.Index(row, want))
		}
	}
}

// More lies in the windows than there is room for at first.
func TestBetweenFindsAllThereIs(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	x := make([]float32, 2*3000)
	for i := range x {
		x[i] = float32(i % 1000)
	}
	inf := float32(math.Inf(1))
	f, err := eng.Between(matrix(t, eng, x, 2), []int32{-1, 2999}, engine.RowWindows{First: []int32{0, 2, 3}, Low: []float32{3, 500, -inf}, High: []float32{3, 501, inf}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Below, []int32{9, 1500, 0}) {
		t.Errorf("below the windows are %v", f.Below)
	}
	columns, values := f.Of(0)
	if !slices.Equal(columns, []int32{3, 500, 501, 1003, 1500, 1501, 2003, 2500, 2501}) || values[3] != 3 {
		t.Errorf("found %v with %v", columns, values)
	}
	if columns, _ := f.Of(1); len(columns) != 2999 || columns[2998] != 2998 {
		t.Errorf("a window of everything has %d columns", len(columns))
	}
}

func TestSearchesThatMakeNoSenseAreRefused(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	d := matrix(t, eng, make([]float32, 6), 2)
	between := func(skip []int32, w engine.RowWindows) error { _, err := eng.Between(d, skip, w); return err }
	kth := func(k int, skip []int32) error { _, err := eng.KthSmallest(d, k, skip); return err }
	pick := func(rows, columns []int32) error { _, err := eng.Pick(d, rows, columns); return err }
	none := []int32{-1, -1}
	values := func(rows, columns []int32, m metric.Metric) error {
		_, err := eng.PairValues(d, d, rows, columns, m)
		return err
	}
	for want, err := range map[string]error{
		"the first is 1":                   kth(0, none),
		"number 4 of row 0":                kth(4, none),
		"number 3 of row 1":                kth(3, []int32{-1, 2}),
		"for 1 rows of 2":                  kth(1, []int32{-1}),
		"no element [2][0], of 2 x 3":      pick([]int32{2}, []int32{0}),
		"no element [0][3], of 2 x 3":      pick([]int32{0}, []int32{3}),
		"1 rows and 0 columns":             pick([]int32{0}, nil),
		"1 windows of 2 rows":              between(none, engine.RowWindows{First: []int32{0, 0}}),
		"no pair of rows [0][2], of 2 x 2": values([]int32{0}, []int32{2}, metric.Metric{P: 2}),
		"cosine is no BRM":                 values([]int32{0}, []int32{1}, metric.Metric{Kind: metric.Cosine}),
		"out of order":                     between(none, engine.RowWindows{First: []int32{0, 2, 2}, Low: []float32{1, 0}, High: []float32{2, 0}}),
		"row 1 has windows 0 to 3":         between(none, engine.RowWindows{First: []int32{0, 0, 3}, Low: []float32{1}, High: []float32{2}}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
