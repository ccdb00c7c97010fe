package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// deviceEngine is a hostEngine that looks rows up as an engine with memory of its
// own does: nobody else reads its distances.
type deviceEngine struct {
	hostEngine
	spoil float32 // takes the place of some keys, unless it is 0
}

var _ engine.RowSearcher = deviceEngine{}

func (e deviceEngine) Read([]float32, engine.Tensor) error {
	return fmt.Errorf("a search brings all distances to the host")
}

func (e deviceEngine) Pairwise(d, a, b engine.Tensor, m metric.Metric) error {
	err := e.hostEngine.Pairwise(d, a, b, m)
	if x := d.(*hostTensor).v; e.spoil != 0 && d.Shape()[0] > 3 {
		x[d.Shape()[1]+4] = e.spoil
	}
	return err
}

func rowOf(x engine.Tensor, r int) []float32 {
	n := x.Shape()[1]
	return x.(*hostTensor).v[r*n : (r+1)*n]
}

func (deviceEngine) Pick(x engine.Tensor, rows, columns []int32) ([]float32, error) {
	var out []float32
	for i, r := range rows {
		out = append(out, rowOf(x, int(r))[columns[i]])
	}
	return out, nil
}

func (deviceEngine) Least(x engine.Tensor) (columns []int32, values []float32, err error) {
	for r := range x.Shape()[0] {
		row := rowOf(x, r)
		v := slices.Min(row)
		columns, values = append(columns, int32(slices.Index(row, v))), append(values, v)
	}
	return columns, values, nil
}

func (deviceEngine) KthSmallest(x engine.Tensor, k int, skip []int32) ([]float32, error) {
	var out []float32
	for r, without := range skip {
		var keys []float32
		for c, v := range rowOf(x, r) {
			if c != int(without) {
				keys = append(keys, v)
			}
		}
		slices.SortFunc(keys, cmp.Compare[float32]) // NaN first
		if keys[0] != keys[0] {
			out = append(out, keys[0])
			continue
		}
		out = append(out, keys[k-1])
	}
	return out, nil
}

func (deviceEngine) Between(x engine.Tensor, skip []int32, w engine.RowWindows) (*engine.RowsFound, error) {
	f := &engine.RowsFound{Below: make([]int32, len(w.Low)), First: []int32{0}}
	for r, without := range skip {
		from, to := w.First[r], w.First[r+1]
		if to-from > engine.MaxRowWindows {
			return nil, fmt.Errorf("%d windows", to-from)
		}
		for c, v := range rowOf(x, r) {
			if c == int(without) {
				continue
			}
			for i := from; i < to; i++ {
				if i > from && !(w.Low[i] > w.High[i-1]) {
					return nil, fmt.Errorf("windows overlap at %v", w.Low[i])
				}
				if v < w.Low[i] {
					f.Below[i]++
				}
				if w.Low[i] <= v && v <= w.High[i] {
					f.Columns, f.Values = append(f.Columns, int32(c)), append(f.Values, v)
				}
			}
		}
		f.First = append(f.First, int32(len(f.Columns)))
	}
	return f, nil
}

// PairValues errs by a few units in the last place.
func (deviceEngine) PairValues(a, b engine.Tensor, rows, columns []int32, m metric.Metric) ([]float64, error) {
	var out []float64
	for i, r := range rows {
		v := m.Value(rowOf(a, int(r)), rowOf(b, int(columns[i])))
		out = append(out, v*(1+float64((int(r)*7+int(columns[i])*3)%9-4)*0x1p-53))
	}
	return out, nil
}

// bounded are the metrics whose keys count at all.
func bounded() (list []metric.Metric) {
	for _, m := range testMetrics() {
		if m.Kind != metric.SignalToNoise {
			list = append(list, m)
		}
	}
	return list
}

func deviceSets() map[string]*Embeddings {
	base := blobs(seeded(1), 6, 9, 5, 0.9)
	base.Labels[3], base.Labels[20] = -7, 1000 // lone, and gaps between labels
	twice := scaled(base, 1)
	copy(twice.X[len(twice.X)/2:], twice.X[:len(twice.X)/2])
	return map[string]*Embeddings{"plain": base, "clustered": blobs(seeded(2), 5, 11, 8, 1e-5), "grid": onGrid(base), "duplicates": twice, "tiny": scaled(base, 1e-30),
		"huge": scaled(base, 1e30), "saturated": scaled(base, 1e4), "collapsed": scaled(base, 0), "large classes": blobs(seeded(3), 2, 80, 3, .5)}
}

func TestNeighborsOnADeviceEqualBruteForce(t *testing.T) {
	for name, e := range deviceSets() {
		for _, m := range bounded() {
			bruteNeighbors(t, deviceEngine{}, name, e, m)
		}
	}
}

func TestRanksOnADeviceEqualBruteForce(t *testing.T) {
	for name, e := range deviceSets() {
		for _, m := range bounded() {
			for _, ties := range []TieRule{Pessimistic, RandomOrder} {
				opt := RetrievalOptions{Ties: ties, Seed: 5, SearchOptions: SearchOptions{Self: LeaveOneOut(e.N), Memory: 5000}}
				got, err := Retrieve(context.Background(), deviceEngine{}, e, e, m, opt)
				if err != nil {
					t.Fatalf("%s, %v: %v", name, m, err)
				}
				want := bruteRetrieval(m, e, e, opt.Self, ties, 5)
				if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) {
					t.Errorf("%s, %v, %v: ranks differ from brute force", name, m, ties)
				}
				opt.FirstOnly = true
				first, err := Retrieve(context.Background(), deviceEngine{}, e, e, m, opt)
				fatal(t, err)
				if !slices.Equal(first.FirstRank, want.FirstRank) {
					t.Errorf("%s, %v, %v: first ranks alone differ from brute force", name, m, ties)
				}
			}
		}
	}
}

// Queries of their own, some of a class that the gallery does not have.
func TestADeviceSearchesAnotherGallery(t *testing.T) {
	gallery := blobs(seeded(31), 7, 6, 6, 0.8)
	queries := blobs(seeded(32), 9, 3, 6, 0.8)
	m := metric.Metric{P: 2}
	want := bruteRetrieval(m, queries, gallery, nil, Pessimistic, 0)
	got, err := Retrieve(context.Background(), deviceEngine{}, queries, gallery, m, RetrievalOptions{SearchOptions: SearchOptions{Memory: 4 * 42 * 4}})
	fatal(t, err)
	if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) || got.Lone != 6 {
		t.Errorf("ranks differ from brute force; %d lone queries", got.Lone)
	}
}

// Keys that are no numbers tell nothing: their row is decided in float64.
func TestADeviceWithKeysThatAreNoNumbers(t *testing.T) {
	e := blobs(seeded(33), 6, 5, 4, 0.8)
	m := metric.Metric{Kind: metric.Dot}
	opt := SearchOptions{Self: LeaveOneOut(e.N), Memory: 4 * 30 * 4}
	want := bruteRetrieval(m, e, e, opt.Self, Pessimistic, 0)
	eng := deviceEngine{spoil: float32(math.NaN())}
	got, err := Retrieve(context.Background(), eng, e, e, m, RetrievalOptions{SearchOptions: opt})
	fatal(t, err)
	if !slices.Equal(got.FirstRank, want.FirstRank) {
		t.Error("ranks differ from brute force")
	}
	l, err := Neighbors(context.Background(), eng, e, e, m, 3, opt)
	fatal(t, err)
	for q := range e.N {
		order, _ := bruteOrder(m, e.Row(q), e, q, func(row int) uint64 { return uint64(row) })
		index, _ := l.Of(q)
		for i, row := range index {
			if int(row) != order[i] {
				t.Errorf("neighbor %d of %d is %d, want %d", i, q, row, order[i])
			}
		}
	}
}

func TestADeviceClustersAsTheHostDoes(t *testing.T) {
	for name, e := range deviceSets() {
		for _, m := range []metric.Metric{{P: 2}, {P: 1}, {Kind: metric.Cosine}} {
			opt := KMeansOptions{K: 6, Restarts: 2, Memory: 6000}
			want, wantErr := Cluster(context.Background(), hostEngine{}, e, m, opt)
			got, err := Cluster(context.Background(), eagerDevice{}, e, m, opt)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %v: %+v (%v), want %+v (%v)", name, m, got, err, want, wantErr)
			}
		}
	}
}

// eagerDevice may be read: k-means++ looks at the distances of its draws.
type eagerDevice struct{ deviceEngine }

func (e eagerDevice) Read(dst []float32, src engine.Tensor) error {
	if len(dst) > candidates*candidates {
		return fmt.Errorf("clustering brings %d distances to the host", len(dst))
	}
	return e.hostEngine.Read(dst, src)
}

func TestAnInexactDeviceIsReported(t *testing.T) {
	e := blobs(seeded(6), 8, 8, 16, 1)
	_, err := Retrieve(context.Background(), deviceEngine{hostEngine: hostEngine{noise: 1e-3}}, e, e, metric.Metric{P: 2}, RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}})
	if err == nil {
		t.Error("an engine with errors of 1e-3 is believed")
	}
}
