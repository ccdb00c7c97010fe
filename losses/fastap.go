package losses

import "math"

// maxSoftBins is the largest number of bins of FastAP.
const maxSoftBins = 1e4

// FastAP is one minus the average precision of retrieving each row's positives,
// on a soft histogram of distances (Cakir et al. 2019, Eq. 10): with h+ and h the
// histograms of the positives' and of all other rows' distances, H+ and H their
// cumulative sums, and N+ the number of positives,
//
//	1 - 1/N+ sum over bins b of h+_b H+_b / H_b
//
// mean over rows with positives. A distance counts to the two nearest of the
// Bins+1 bin centers from 0 to Max, in proportion; beyond Max to the last.
//
// The zero value has the authors' 10 bins up to a Max of 2 on distances of
// 1 - cosine, which is 4 on squared distances of unit vectors.
type FastAP struct {
	Bins int
	Max  float64

	pos, neg  []int
	hPos, hNe []float64
	dPos, dNe []float64 // derivatives with respect to the histograms

	paper      paper
	cumulative []float64
}

// Columns is Batch.
func (*FastAP) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are rows with positives.
func (l *FastAP) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *FastAP) about() about { return about{"fastap", fastAPEntry, &l.paper} }

func (l *FastAP) fields(f *fields) {
	f.whole("Bins", l.Bins, 1, maxSoftBins)
	f.positive("Max", l.Max)
}

func (l *FastAP) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("fastap", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkDistance("fastap"); err != nil {
		return Result{}, err
	}
	zero(grad)
	var r Result
	for a := range m.Rows {
		l.pos, l.neg = m.split(a, l.pos[:0], l.neg[:0])
		if len(l.pos) == 0 {
			continue
		}
		r.Total++
		if len(l.neg) == 0 {
			continue // all retrieved are right
		}
		r.Active++
		v, g := m.row(m.V, a), m.row(grad, a)
		l.hPos = l.histogram(v, l.pos, l.hPos)
		l.hNe = l.histogram(v, l.neg, l.hNe)
		r.Value += l.precision(1 / float64(len(l.pos)))
		l.back(v, g, l.pos, l.dPos)
		l.back(v, g, l.neg, l.dNe)
	}
	return r.mean(grad), nil
}

// bin returns the bin center at or below a distance, the share of the next one
// and its derivative, which is 0 on a center.
func (l *FastAP) bin(d float64) (b int, share, slope float64) {
	return softBin(d/l.Max*float64(l.Bins), l.Bins, float64(l.Bins)/l.Max)
}

// softBin splits a position among bins between the center at or below it and
// the next. Positions outside count to the first or the last center.
func softBin(x float64, last int, density float64) (b int, share, slope float64) {
	switch {
	case x <= 0:
		return 0, 0, 0
	case x >= float64(last):
		return last, 0, 0
	}
	floor := math.Floor(x)
	if x == floor {
		return int(floor), 0, 0
	}
	return int(floor), x - floor, density
}

func (l *FastAP) histogram(v []float64, columns []int, h []float64) []float64 {
	h = grow(h, l.Bins+1)
	clear(h)
	for _, j := range columns {
		b, share, _ := l.bin(v[j])
		h[b] += 1 - share
		if share > 0 {
			h[b+1] += share
		}
	}
	return h
}

// precision returns one row's loss and fills its derivatives with respect to
// the histograms.
func (l *FastAP) precision(perPositive float64) float64 {
	l.dPos, l.dNe, l.cumulative = grow(l.dPos, l.Bins+1), grow(l.dNe, l.Bins+1), grow(l.cumulative, l.Bins+1)
	sum, right, all := 0.0, 0.0, 0.0
	for b, h := range l.hPos {
		right += h
		all += h + l.hNe[b]
		l.dPos[b], l.cumulative[b] = 0, all
		if all > 0 {
			l.dPos[b] = right / all
			sum += h * l.dPos[b]
		}
	}
	// An element of a bin is also in the cumulative sums of all later ones.
	inRight, inAll := 0.0, 0.0
	for b := l.Bins; b >= 0; b-- {
		if all := l.cumulative[b]; all > 0 {
			inRight += l.hPos[b] / all
			inAll += l.hPos[b] * l.dPos[b] / all
		}
		l.dPos[b] = -perPositive * (l.dPos[b] + inRight - inAll)
		l.dNe[b] = perPositive * inAll
	}
	return 1 - perPositive*sum
}

// back hands the derivatives of a histogram to the distances in it.
func (l *FastAP) back(v, g []float64, columns []int, d []float64) {
	for _, j := range columns {
		if b, _, slope := l.bin(v[j]); slope != 0 {
			g[j] = slope * (d[b+1] - d[b])
		}
	}
}

func fastAPEntry(o Options) entry {
	y := onSquared(o)
	_, high := y.span()
	if !(high < 1e6) {
		high = y.at(2) // rows of one length
	}
	return entry{
		meaning: "average precision of each row's ranking, on a soft histogram of distances",
		source:  "Cakir et al. 2019, Eq. 10",
		view:    y.view,
		settings: []setting{
			whole("bins", "bins of the histogram", 10, 1, maxSoftBins),
			positive("max", "end of the histogram, of q = D^2/D0^2", high),
		},
		build: func(v values) (Loss, error) { return &FastAP{Bins: v.int("bins"), Max: v.real("max")}, nil },
	}
}
