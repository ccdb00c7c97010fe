package layers

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// neighborhoods are the distinct sets of neighbors of a batch.
type neighborhoods struct {
	sets [][]int // items, ascending
	of   []int   // the set of each item
}

// neighborhoods finds them: the items within delta, and the item itself unless
// it is left out.
func (f *flow) neighborhoods(near func(j, l int) bool) neighborhoods {
	h := neighborhoods{of: make([]int, f.n)}
	known := map[string]int{}
	key := make([]byte, f.n)
	for j := range f.n {
		var set []int
		for l := range f.n {
			key[l] = 0
			if l == j && !f.spec.Alone || l != j && near(j, l) {
				key[l] = 1
				set = append(set, l)
			}
		}
		at, ok := known[string(key)]
		if !ok {
			at = len(h.sets)
			known[string(key)] = at
			h.sets = append(h.sets, set)
		}
		h.of[j] = at
	}
	return h
}

// channelBlock is the number of channels whose angles are summed before they
// join the total. The order of sums depends on it, and so on no number of
// workers.
const channelBlock = 4

// angles returns the angle of each pair, summed over channels (A4).
func (f *flow) angles(grams []float32, near func(j, l int) bool, pairs []pair) []float64 {
	total := make([]float64, len(pairs))
	if len(pairs) == 0 {
		return total
	}
	h := f.neighborhoods(near)
	sums := make([][]float64, (f.channels+channelBlock-1)/channelBlock)
	f.channelBlocks(func(b, c int) {
		if sums[b] == nil {
			sums[b] = make([]float64, len(pairs))
		}
		f.addAngles(sums[b], grams[c*f.n*f.n:(c+1)*f.n*f.n], h, pairs)
	})
	for _, sum := range sums {
		for k, v := range sum {
			total[k] += v
		}
	}
	return total
}

// channelBlocks calls do for every channel, those of a block one after another.
func (f *flow) channelBlocks(do func(block, channel int)) {
	blocks := (f.channels + channelBlock - 1) / channelBlock
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), blocks) {
		group.Go(func() {
			for b := int(next.Add(1)) - 1; b < blocks; b = int(next.Add(1)) - 1 {
				for c := b * channelBlock; c < min((b+1)*channelBlock, f.channels); c++ {
					do(b, c)
				}
			}
		})
	}
	group.Wait()
}

// tangent is the tangent space of a neighborhood in one channel: the leading
// eigenvectors of the centered Gram matrix of its items, which has the eigenvalues
// of the covariance matrix but the size of the set.
type tangent struct {
	set     []int
	values  []float64 // all eigenvalues, ascending
	vectors *mat.Dense
	// directions belong to the last eigenvalues, the largest first.
	directions []direction
}

// direction is a principal vector of a neighborhood: the sum over its items of
// weight times item, of length 1.
type direction struct {
	weights []float64 // of the set's items; they add up to 0
	image   []float64 // products with every item of the batch
}

// addAngles adds the angles of one channel (A1 and A2) to sum.
func (f *flow) addAngles(sum []float64, gram []float32, h neighborhoods, pairs []pair) {
	tangents := f.tangents(gram, h)
	for k, p := range pairs {
		a, b := h.of[p.j], h.of[p.l]
		if a == b {
			continue // one neighborhood, one tangent space
		}
		if len(tangents[a].directions) == 0 || len(tangents[b].directions) == 0 {
			if f.spec.Orthogonal {
				sum[k] += math.Pi / 2
			}
			continue
		}
		_, _, product := closest(tangents[a], tangents[b])
		sum[k] += math.Acos(min(math.Abs(product), 1))
	}
}

func (f *flow) tangents(gram []float32, h neighborhoods) []tangent {
	list := make([]tangent, len(h.sets))
	for s, set := range h.sets {
		list[s] = f.tangent(gram, set)
	}
	return list
}

// closest finds the direction of a and that of b whose product has the largest
// absolute value: the sign of a principal vector means nothing.
func closest(a, b tangent) (i, j int, product float64) {
	for k, u := range a.directions {
		for l, v := range b.directions {
			sum := 0.0
			for r, item := range b.set {
				sum += v.weights[r] * u.image[item]
			}
			if math.Abs(sum) > math.Abs(product) {
				i, j, product = k, l, sum
			}
		}
	}
	return i, j, product
}

// rankTolerance is the variance, in squared distances to the reference, that a
// Gram matrix in float32 cannot tell from none.
const rankTolerance = 1e-5

// tangent returns the tangent space of the items of a set in one channel; without
// directions if there is none.
func (f *flow) tangent(gram []float32, set []int) tangent {
	k := len(set)
	if k < 2 {
		return tangent{}
	}
	centered, largest := centeredGram(gram, f.n, set)
	var e mat.EigenSym
	if !e.Factorize(centered, true) {
		return tangent{} // does not happen to finite numbers
	}
	t := tangent{set: set, values: e.Values(nil), vectors: &mat.Dense{}}
	e.VectorsTo(t.vectors)
	total, held := 0.0, 0.0
	for _, v := range t.values {
		total += max(v, 0)
	}
	for i := k - 1; i >= 0 && t.values[i] > rankTolerance*largest; i-- {
		if f.spec.Variance > 0 && held >= f.spec.Variance*total || f.spec.Variance == 0 && len(t.directions) == f.spec.Components {
			break
		}
		held += t.values[i]
		d := direction{make([]float64, k), make([]float64, f.n)}
		for r := range k {
			d.weights[r] = t.vectors.At(r, i) / math.Sqrt(t.values[i])
			for l, v := range gram[set[r]*f.n : (set[r]+1)*f.n] {
				d.image[l] += d.weights[r] * float64(v)
			}
		}
		t.directions = append(t.directions, d)
	}
	return t
}

// centeredGram returns the products of the differences of a set's items to their
// mean, and the largest product of an item with itself before.
func centeredGram(gram []float32, n int, set []int) (*mat.SymDense, float64) {
	k := len(set)
	means, mean, largest := make([]float64, k), 0.0, 0.0
	for r, i := range set {
		for _, j := range set {
			means[r] += float64(gram[i*n+j]) / float64(k)
		}
		mean += means[r] / float64(k)
		largest = max(largest, float64(gram[i*n+i]))
	}
	m := mat.NewSymDense(k, nil)
	for r, i := range set {
		for c := r; c < k; c++ {
			m.SetSym(r, c, float64(gram[i*n+set[c]])-means[r]-means[c]+mean)
		}
	}
	return m, largest
}
