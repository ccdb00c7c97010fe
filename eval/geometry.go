package eval

import "math"

// ClassGeometry compares the spread of classes with the distance between them,
// by cosine distance (Roth et al. 2020, "Revisiting training strategies",
// section 5): a small ratio means tight classes far apart.
type ClassGeometry struct {
	// Intra is the mean over classes of the mean cosine distance of ordered
	// pairs inside the class; NaN if no class has two rows.
	Intra float64
	// Inter is the mean cosine distance between class centers, the means of
	// raw rows, over ordered pairs of classes; NaN for a single class.
	Inter float64
	// Ratio is Intra/Inter.
	Ratio float64
}

// Pi computes the class geometry in O(N H), since the sum of all cosines inside
// a group is the squared norm of its sum of unit vectors. A zero row has cosine
// 0 with every other.
func Pi(e *Embeddings) (ClassGeometry, error) {
	if err := e.ValidateLabeled(); err != nil {
		return ClassGeometry{}, err
	}
	class, distinct := Compact(e.Labels)
	var intra float64
	classes := 0
	centers := make([][]float64, len(distinct))
	for c, rows := range members(class, len(distinct)) {
		units := newUnitSum(e.H)
		center := make([]float64, e.H)
		row := make([]float64, e.H)
		for _, i := range rows {
			for j, v := range e.Row(int(i)) {
				row[j] = float64(v)
				center[j] += row[j] / float64(len(rows))
			}
			units.add(row)
		}
		centers[c] = center
		if len(rows) > 1 {
			intra += units.meanDistance()
			classes++
		}
	}
	between := newUnitSum(e.H)
	for _, c := range centers {
		between.add(c)
	}
	g := ClassGeometry{Intra: math.NaN(), Inter: math.NaN()}
	if classes > 0 {
		g.Intra = intra / float64(classes)
	}
	if len(centers) > 1 {
		g.Inter = between.meanDistance()
	}
	g.Ratio = g.Intra / g.Inter
	return g, nil
}

// unitSum adds up unit vectors.
type unitSum struct {
	sum     []float64
	n, zero int
}

func newUnitSum(h int) *unitSum { return &unitSum{sum: make([]float64, h)} }

func (u *unitSum) add(x []float64) {
	u.n++
	s := 0.0
	for _, v := range x {
		s += v * v
	}
	if s == 0 {
		u.zero++
		return
	}
	s = math.Sqrt(s)
	for j, v := range x {
		u.sum[j] += v / s
	}
}

// meanDistance is the mean of 1 - cos over ordered pairs.
func (u *unitSum) meanDistance() float64 {
	s := 0.0
	for _, v := range u.sum {
		s += v * v
	}
	n := float64(u.n)
	return 1 - (s-(n-float64(u.zero)))/(n*(n-1))
}
