package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// Searcher finds the nearest rows of a gallery that is searched again and again. What a
// search needs to know of the gallery is found out once: NewSearcher reads it, and one
// query reads it once more and nothing else. Beside the rows it keeps 24 bytes a row at
// most. Several goroutines may search at a time.
//
// A few queries are compared with the rows as they lie there. For many, parts of the
// gallery are laid out for products of matrices, one after another, as Neighbors does
// with all of it.
type Searcher struct {
	eng     Engine
	close   func()
	host    rowEngine // eng, where rows are compared as they lie there, else nil
	gallery *Embeddings
	order   order
	direct  metric.Metric // what host evaluates of two rows
	// norm is the length of each row, of Cosine and Dot only. low and high are the
	// shortest, except for zeros, and the longest.
	norm      []float64
	low, high float64
	kept      *kept
	// fewQueries and partRows are for tests; 0 means the constants of these names.
	fewQueries, partRows int
}

const (
	// fewQueries are compared with the rows as they lie there, groupQueries at a time.
	fewQueries   = 32
	groupQueries = 8
	// directRows is how many rows a goroutine compares with all queries before the next.
	directRows = 1024
	// partBytes is what a part of the gallery that is laid out may take.
	partBytes = 128 << 20
)

// NewSearcher prepares searches of a gallery, whose rows must not change any more, by a
// metric. In place of a nil engine it has one of its own, which Close closes.
func NewSearcher(eng Engine, gallery *Embeddings, m metric.Metric) (*Searcher, error) {
	o, err := newOrder(m)
	if err != nil {
		return nil, err
	}
	if err := checkGalleryShape(gallery); err != nil {
		return nil, err
	}
	s := &Searcher{gallery: gallery, order: o, direct: o.kernel}
	if s.eng, s.close, err = OrCPU(eng); err != nil {
		return nil, err
	}
	if err := s.measure(0); err != nil {
		s.close()
		return nil, fmt.Errorf("gallery: %w", err)
	}
	s.kept = &kept{gallery: gallery}
	return s, nil
}

// Grown returns a Searcher of a gallery that begins with the rows of this one, of which
// it finds out only what it needs to know of the further ones. It has the engine of s,
// which may be used meanwhile and must be closed once, and after it.
func (s *Searcher) Grown(gallery *Embeddings) (*Searcher, error) {
	old := s.gallery
	if gallery.H != old.H || gallery.N < old.N || len(gallery.X) != gallery.N*gallery.H {
		return nil, fmt.Errorf("eval: a gallery of %d rows of %d numbers cannot become one of %d of %d", old.N, old.H, gallery.N, gallery.H)
	}
	if gallery.N > old.N {
		more := &Embeddings{X: gallery.X[old.N*old.H:], N: gallery.N - old.N, H: old.H}
		if gallery.Labels != nil {
			more.Labels = gallery.Labels[min(old.N, len(gallery.Labels)):]
		}
		if err := checkGalleryShape(more); err != nil {
			return nil, err
		}
	}
	grown := *s
	grown.gallery, grown.close = gallery, func() {}
	if err := grown.measure(old.N); err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	grown.kept = &kept{gallery: gallery}
	return &grown, nil
}

// measure finds out what a search needs to know of the rows from one on; s knows it of
// those before. Its error is that of a number that is not finite.
func (s *Searcher) measure(from int) error {
	s.host = nil
	switch s.order.metric.Kind {
	case metric.BRM, metric.Euclidean, metric.SquaredEuclidean, metric.Manhattan, metric.Cosine, metric.Dot:
		s.host, _ = s.eng.(rowEngine)
	}
	if s.host != nil && !s.order.summed() {
		s.direct = metric.Metric{Kind: metric.SquaredEuclidean}
		if s.lengths(from) {
			return nil
		}
	}
	return s.gallery.checkFinite()
}

// Close closes the engine that NewSearcher made, if it did.
func (s *Searcher) Close() { s.close() }

// Gallery returns what is searched.
func (s *Searcher) Gallery() *Embeddings { return s.gallery }

// lengths measures the rows from one on. Where float32 cannot compare them as they lie
// there, because squares overflow or some lengths are out of proportion, host becomes nil. It
// reports whether all numbers are finite: in float64, the squares of such sum up to one.
func (s *Searcher) lengths(from int) (finite bool) {
	h := s.gallery.H
	more := &Embeddings{X: s.gallery.X[from*h:], N: s.gallery.N - from, H: h}
	similarity := s.order.metric.Similarity()
	norm := lengthsOf(more)
	if s.order.metric.Kind == metric.Cosine { // whose distances they are part of
		norm = norms(SearchOptions{}.workers(), more)
	}
	if from == 0 || s.low == 0 { // rows of zeros alone are the shortest and the longest
		s.low = math.Inf(1)
	}
	finite = true
	for _, n := range norm {
		if n-n != 0 {
			finite = false
			continue
		}
		s.high = max(s.high, n)
		if n > 0 {
			s.low = min(s.low, n)
		}
	}
	s.low = min(s.low, s.high)
	if similarity {
		s.norm = append(s.norm[:from:from], norm...)
	}
	const largest, smallest, proportion = 1e15, 1e-15, 1e3
	if s.high > largest || similarity && (s.low < smallest || s.high > proportion*s.low) {
		s.host = nil
	}
	return finite
}

// lengthsOf are the norms of rows but for their last bits, and faster.
func lengthsOf(e *Embeddings) []float64 {
	n := make([]float64, e.N)
	_ = parallel(SearchOptions{}.workers(), e.N, func(_, i int) error {
		var a, b, c, d float64
		x := e.Row(i)
		for ; len(x) >= 4; x = x[4:] {
			a += float64(x[0]) * float64(x[0])
			b += float64(x[1]) * float64(x[1])
			c += float64(x[2]) * float64(x[2])
			d += float64(x[3]) * float64(x[3])
		}
		for _, v := range x {
			a += float64(v) * float64(v)
		}
		n[i] = math.Sqrt(a + b + (c + d))
		return nil
	})
	return n
}

// Nearest finds the k nearest rows of every query, as Neighbors does.
func (s *Searcher) Nearest(ctx context.Context, queries *Embeddings, k int, opt SearchOptions) (*NeighborList, error) {
	return s.NearestOf(ctx, nil, queries, k, opt)
}

// NearestOf is Nearest among some rows of the gallery, which ascend; nil are all.
func (s *Searcher) NearestOf(ctx context.Context, rows []int32, queries *Embeddings, k int, opt SearchOptions) (*NeighborList, error) {
	if err := checkQueries(queries, s.gallery, opt); err != nil {
		return nil, err
	}
	among := subset{rows, s.gallery.N}
	if err := among.check(); err != nil {
		return nil, err
	}
	most := among.len()
	if opt.Self != nil && slices.ContainsFunc(opt.Self, func(row int) bool { return among.place(row) >= 0 }) {
		most--
	}
	if k < 1 || k > most {
		return nil, fmt.Errorf("eval: %d neighbors asked for, want 1 to %d (the gallery has %d rows)", k, most, among.len())
	}
	list := &NeighborList{K: k}
	err := opt.onRanks(ctx, queries, func(ctx context.Context, part *Embeddings, its SearchOptions, _ int) error {
		list.Queries, list.Index, list.Distance = part.N, make([]int32, part.N*k), make([]float64, part.N*k)
		return s.nearest(ctx, among, part, list, its)
	})
	if err == nil {
		err = list.gather(comm.OrSingle(opt.Comm), queries.N)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// nearest fills the list.
func (s *Searcher) nearest(ctx context.Context, among subset, queries *Embeddings, list *NeighborList, opt SearchOptions) (err error) {
	few := fewQueries
	if s.fewQueries > 0 {
		few = s.fewQueries
	}
	if s.host != nil && queries.N <= few {
		for from := 0; from < queries.N && err == nil; from += groupQueries {
			to := min(from+groupQueries, queries.N)
			err = s.compare(ctx, among, queries, from, to, list, opt)
			if opt.Progress != nil && err == nil {
				opt.Progress(to, queries.N)
			}
		}
		return err
	}
	return s.multiply(ctx, among, queries, list, opt)
}

// put stores the nearest rows of a query.
func (s *Searcher) put(list *NeighborList, q int, nearest []ranked) {
	for i := range list.K {
		at := q*list.K + i
		if list.Index[at] = -1; i < len(nearest) {
			list.Index[at], list.Distance[at] = nearest[i].row, s.order.distance(nearest[i].exact.key)
		}
	}
}

// multiply lays parts of the gallery out, one after another, and keeps of each query the
// nearest rows so far.
func (s *Searcher) multiply(ctx context.Context, among subset, queries *Embeddings, list *NeighborList, opt SearchOptions) error {
	n, h := among.len(), s.gallery.H
	rows := partBytes / (4 * (h + 1))
	if s.partRows > 0 {
		rows = s.partRows
	}
	rows = max(rows, 2*(list.K+1)) // a part has at least 3/4 of them: k rows and the query itself
	parts := max(1, (n+rows/2)/rows)
	best := make([][]ranked, queries.N)
	for p := range parts {
		from, to := p*n/parts, (p+1)*n/parts
		part, its := among.part(s.gallery, from, to, opt)
		its.kept = s.kept // counts where the part is the whole gallery
		if opt.Progress != nil {
			its.Progress = func(done, total int) { opt.Progress((p*total+done)/parts, total) }
		}
		most := part.N
		if its.Self != nil {
			most--
		}
		err := nearest(ctx, s.eng, queries, part, s.order.metric, min(list.K, most), its, func(q int, found []ranked) {
			for _, c := range found {
				c.row = among.at(from + int(c.row))
				c.exact.place = uint64(c.row)
				best[q] = append(best[q], c)
			}
			slices.SortFunc(best[q], func(a, b ranked) int { return a.exact.compare(b.exact) })
			best[q] = best[q][:min(len(best[q]), list.K)]
		})
		if err != nil {
			return err
		}
	}
	for q, found := range best {
		s.put(list, q, found)
	}
	return nil
}

// compare compares every row with the queries first to last-1.
func (s *Searcher) compare(ctx context.Context, among subset, queries *Embeddings, first, last int, list *NeighborList, opt SearchOptions) error {
	n, h := among.len(), s.gallery.H
	asked := make([]*asked, last-first)
	for i := range asked {
		asked[i] = s.ask(queries.Row(first+i), n)
	}
	var all [directRows]int32
	for i := range all {
		all[i] = int32(i)
	}
	err := parallel(opt.workers(), (n+directRows-1)/directRows, func(_, part int) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		from, to := part*directRows, min((part+1)*directRows, n)
		rows, index := s.gallery.X, []int32(nil)
		if among.rows == nil {
			rows, index = rows[from*h:to*h], all[:to-from]
		} else {
			index = among.rows[from:to]
		}
		for _, a := range asked {
			if err := s.host.RowValues(a.keys[from:to], a.row, rows, index, s.direct); err != nil {
				return err
			}
			s.similarities(a, among, from, to)
		}
		return nil
	})
	if err != nil {
		return err
	}
	leftOut := opt.Groups.leftOut(queries, s.gallery)
	return parallel(opt.workers(), len(asked), func(_, i int) error {
		found, err := s.settle(asked[i], among, opt.self(first+i), leftOut(first+i), list.K)
		if err == nil {
			s.put(list, first+i, found)
		}
		return err
	})
}

// asked is a query that is compared with rows as they lie there.
type asked struct {
	x    []float32 // as given
	norm float64
	row  []float32 // what rows are compared with: of Cosine, x brought to the length of rows
	size float64   // its length
	keys []float32 // of all rows that are searched
}

// ask prepares a query of n rows.
func (s *Searcher) ask(x []float32, n int) *asked {
	a := &asked{x: x, row: x, norm: norm(x), keys: make([]float32, n)}
	a.size = a.norm
	if s.order.metric.Kind == metric.Cosine && a.norm > 0 {
		scale := math.Sqrt(s.low*s.high) / a.norm
		a.row = make([]float32, len(x))
		for i, v := range x {
			a.row[i] = float32(float64(v) * scale)
		}
		a.size = norm(a.row)
	}
	return a
}

// similarities makes keys of Cosine and Dot of squared distances: with a and b the rows,
// ab = (|a|^2 + |b|^2 - |a-b|^2)/2.
func (s *Searcher) similarities(a *asked, among subset, from, to int) {
	if s.norm == nil {
		return
	}
	cosine := s.order.metric.Kind == metric.Cosine
	for i, key := range a.keys[from:to] {
		n := s.norm[among.at(from+i)]
		product := (a.size*a.size + n*n - float64(key)) / 2
		switch {
		case !cosine:
			a.keys[from+i] = float32(-product)
		case n == 0 || a.size == 0:
			a.keys[from+i] = 0
		default:
			a.keys[from+i] = float32(-product / (a.size * n))
		}
	}
}

// off bounds the error of keys of rows whose key, in float64, is at most key.
func (s *Searcher) off(a *asked, key float64) float64 {
	h := s.gallery.H
	sum := float64(h+12) * unitRoundoff
	lost := float64(h+12) * underflow
	switch s.order.metric.Kind {
	case metric.BRM:
		return s.order.rowKeyError(key, h)
	case metric.Cosine:
		if a.size == 0 {
			return 0
		}
		// A squared distance is at most (size + n)^2, of which sum is lost; the query
		// itself was rounded once more.
		part := func(n float64) float64 { return (a.size + n) * (a.size + n) / (2 * a.size * n) }
		return sum*max(part(s.low), part(s.high)) + 4*unitRoundoff
	case metric.Dot:
		return sum*(a.size+s.high)*(a.size+s.high)/2 + unitRoundoff*a.size*s.high + lost
	}
	return sum*key + lost
}

// within returns a float32 key that those of the k nearest do not exceed, given the k-th
// smallest of them.
func (s *Searcher) within(a *asked, kth float64) float32 {
	inf := float32(math.Inf(1))
	far := s.order.metric.Kind != metric.BRM && a.size > 1e15
	if far || math.IsInf(kth, 0) || math.Abs(kth) >= math.MaxFloat32 {
		return inf
	}
	// The k-th key is at most t in float64, if t is kth and what it may be off by. The
	// bound of small keys of BRM grows faster than they do.
	small := restrictionError * s.order.metric.Restriction.Bound(s.order.metric.Omega)
	t := kth + 4*s.off(a, kth) + 16*small*small
	if !(t >= kth+s.off(a, t)) {
		return inf
	}
	return roundUp(t + s.off(a, t))
}

// settle finds the k nearest rows by their keys in float64, of those that keys in float32
// leave open. self, unless it is -1, and without, which ascends, are left out.
func (s *Searcher) settle(a *asked, among subset, self int, without []int32, k int) ([]ranked, error) {
	if at := among.place(self); at >= 0 {
		a.keys[at] = float32(math.Inf(1))
	}
	for _, row := range without {
		if at := among.place(int(row)); at >= 0 {
			a.keys[at] = float32(math.Inf(1))
		}
	}
	sel := &selector{k: k}
	limit := float32(math.Inf(1))
	if kth := sel.kth(a.keys); kth == kth {
		limit = s.within(a, float64(kth))
	}
	var open []int32
	if limit <= math.MaxFloat32 {
		open = s.host.Between(nil, a.keys, float32(math.Inf(-1)), limit)
	} else {
		for i := range a.keys {
			open = append(open, int32(i))
		}
	}
	seen := map[uint64][]ranked{} // rows by their hash: a set may have collapsed
	many := len(open) > 4*k+64
	var rows []ranked
	for _, at := range open {
		i := among.at(int(at))
		if _, left := slices.BinarySearch(without, i); left || int(i) == self {
			continue
		}
		row := s.gallery.Row(int(i))
		c := ranked{row: i, key32: a.keys[at]}
		sum, same := uint64(0), false
		if many {
			sum = hashRow(row)
			for _, o := range seen[sum] {
				if sameBits(row, s.gallery.Row(int(o.row))) {
					c.exact, same = spot{o.exact.key, uint64(i)}, true
					break
				}
			}
		}
		if !same {
			key := s.order.exactKey(a.x, row, a.norm, s.lengthOf(int(i)))
			if miss := math.Abs(float64(c.key32) - key); limit <= math.MaxFloat32 && !(miss <= s.off(a, max(key, float64(c.key32)))) {
				return nil, fmt.Errorf("eval: the engine's %v to gallery row %d is off by %.3g, more than float32 arithmetic can be: %w", s.order.metric, i, miss, errInexact)
			}
			c.exact = spot{key, uint64(i)}
			if many {
				seen[sum] = append(seen[sum], c)
			}
		}
		rows = append(rows, c)
	}
	slices.SortFunc(rows, func(a, b ranked) int { return a.exact.compare(b.exact) })
	return rows[:min(k, len(rows))], nil
}

var errInexact = errors.New("use an engine that computes distances in float32")

// lengthOf is the length of a row, which only Cosine asks for.
func (s *Searcher) lengthOf(row int) float64 {
	if s.norm == nil {
		return 0
	}
	return s.norm[row]
}
