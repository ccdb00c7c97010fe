package losses

import (
	"fmt"
	"math"
)

// maxBins is the largest number of bins of Histogram.
const maxBins = 1e5

// Histogram is the probability that a negative pair is more similar than a
// positive one (Ustinova and Lempitsky 2016, Eq. 4), from soft histograms h+ and
// h- of both kinds of pairs' similarities:
//
//	sum over bins b of h-_b * (h+_0 + ... + h+_b)
//
// A similarity counts to the two nearest of the Bins+1 bin centers from Low to
// High, in proportion; outside to the first or last. Pairs are ordered ones.
//
// The zero value has 100 bins from -1 to 1, on cosines.
type Histogram struct {
	Bins      int
	Low, High float64

	paper      paper
	hPos, hNeg []float64
	dPos, dNeg []float64
}

// Columns is Batch.
func (*Histogram) Columns() Columns { return Batch }

// Eval implements Loss. Its terms are pairs, all active if there are both kinds.
func (l *Histogram) Eval(m *Matrix, grad []float64) (Result, error) { return evaluate(l, m, grad) }

func (l *Histogram) about() about { return about{"histogram", histogramEntry, &l.paper} }

func (l *Histogram) fields(f *fields) {
	f.whole("Bins", l.Bins, 1, maxBins)
	f.number("Low", l.Low)
	f.number("High", l.High)
	if width := l.High - l.Low; !(width > smallestField) {
		f.refuse("High", l.High, fmt.Sprintf("more than Low, %v", l.Low))
	}
}

func (l *Histogram) eval(m *Matrix, grad []float64) (Result, error) {
	if err := m.check("histogram", grad); err != nil {
		return Result{}, err
	}
	if err := m.checkSimilarity("histogram"); err != nil {
		return Result{}, err
	}
	zero(grad)
	l.hPos, l.hNeg = grow(l.hPos, l.Bins+1), grow(l.hNeg, l.Bins+1)
	l.dPos, l.dNeg = grow(l.dPos, l.Bins+1), grow(l.dNeg, l.Bins+1)
	clear(l.hPos)
	clear(l.hNeg)
	pos, neg := 0, 0
	l.each(m, func(k int, positive bool, b int, share, _ float64) {
		h := l.hNeg
		if positive {
			h = l.hPos
			pos++
		} else {
			neg++
		}
		h[b] += 1 - share
		if share > 0 {
			h[b+1] += share
		}
	})
	r := Result{Total: pos + neg}
	if pos == 0 || neg == 0 {
		return r, nil
	}
	r.Active = r.Total
	weight := 1 / (float64(pos) * float64(neg))
	below := 0.0
	for b := range l.hPos {
		below += l.hPos[b]
		r.Value += weight * l.hNeg[b] * below
		l.dNeg[b] = weight * below
	}
	above := 0.0
	for b := l.Bins; b >= 0; b-- {
		above += l.hNeg[b]
		l.dPos[b] = weight * above
	}
	l.each(m, func(k int, positive bool, b int, _, slope float64) {
		if slope == 0 {
			return
		}
		d := l.dNeg
		if positive {
			d = l.dPos
		}
		grad[k] = slope * (d[b+1] - d[b])
	})
	return r, nil
}

// each calls fn for every pair with its place in the histogram.
func (l *Histogram) each(m *Matrix, fn func(k int, positive bool, b int, share, slope float64)) {
	density := float64(l.Bins) / (l.High - l.Low)
	for i, label := range m.RowLabels {
		for j, other := range m.ColLabels {
			if m.Self(i, j) {
				continue
			}
			k := i*m.Cols + j
			b, share, slope := softBin((m.V[k]-l.Low)*density, l.Bins, density)
			fn(k, label == other, b, share, slope)
		}
	}
}

func histogramEntry(o Options) entry {
	y := onSimilarity(o)
	low, _ := y.span()
	if !(low > -1e6) {
		low = y.at(2) // rows of one length
	}
	return entry{
		meaning: "probability that a negative pair is closer than a positive one",
		source:  "Ustinova and Lempitsky 2016, Eq. 4",
		view:    y.view,
		settings: []setting{
			whole("bins", "bins of the histograms", 100, 1, maxBins),
			between("low", "similarity at which they begin", low, math.Inf(-1), 1, true, true),
		},
		build: func(v values) (Loss, error) {
			return &Histogram{Bins: v.int("bins"), Low: v.real("low"), High: 1}, nil
		},
	}
}
