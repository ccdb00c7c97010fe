package losses

import "math"

// MDR draws the distances of a batch to a few learned levels (multi-level distance
// regularization, Kim and Park 2021): with mu and s the mean and the deviation of
// distances, each a moving average and a constant for the gradient, it is
//
//	Weight * mean over ordered pairs of min over k of |(|x_i - x_j| - mu)/s - l_k| + Nu * sum of l_k^2
//
// and looks at no labels. As in the authors' code the averages are over all entries of
// the matrix of distances, its diagonal too (divisor n^2 - 1 for the deviation); they
// begin with the first batch's. Scaled divides the rows by the mean of the batch's
// distances first, with gradient, so that a common scale of all rows counts nothing.
//
// The zero value has Weight 0.6, Nu 0.01, Momentum 0.1, three levels that begin at -3, 0
// and 3, and Scaled: the authors' constants for CUB (Weight is 0.2 for Cars, 0.1 for
// SOP and In-shop).
type MDR struct {
	Weight, Nu float64
	// Momentum is the share of the batch in the averages.
	Momentum float64
	// Levels is how many there are, at first 3 apart around 0.
	Levels int
	Scaled bool

	asSet bool // the fields count even where all are zero

	level, slope []float64
	average      [2]float64 // mean and deviation; a deviation of 0 before they begin
	distance     []float64
}

// mostLevels is far more than there are clusters of distances.
const mostLevels = 100

func (m *MDR) fields(f *fields) {
	f.flag(m.asSet)
	f.notNegative("Weight", m.Weight)
	f.notNegative("Nu", m.Nu)
	f.in("Momentum", m.Momentum, interval{low: 0, high: 1, openLow: true})
	f.whole("Levels", m.Levels, 1, mostLevels)
	f.flag(m.Scaled)
}

// Parameters returns the levels, which are learned, and the averages, statistics.
func (m *MDR) Parameters() []Param {
	if m.level == nil {
		n := m.Levels
		if own, err := m.settled(); err == nil {
			n = own.Levels
		}
		m.level, m.slope = make([]float64, n), make([]float64, n)
		for k := range m.level {
			m.level[k] = 3 * (float64(k) - float64(n-1)/2)
		}
	}
	n := len(m.level)
	return []Param{
		{Name: "levels", Shape: []int{n}, Value: m.level, Grad: m.slope},
		{Name: "distances", Shape: []int{2}, Value: m.average[:]},
	}
}

func (m *MDR) settled() (*MDR, error) {
	return settle("mdr", m, false, func() (*MDR, error) { return paperTerm[*MDR]("mdr") })
}

// EvalRows implements RowTerm. Of one row, or of rows that are all equal before the
// averages have begun, the term is that of the levels alone.
func (m *MDR) EvalRows(x []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("mdr", x, rows, dim, grad); err != nil {
		return 0, err
	}
	own, err := m.settled()
	if err != nil {
		return 0, err
	}
	m.Parameters()
	zero(grad)
	value := 0.
	for k, l := range m.level {
		value += own.Nu * l * l
		m.slope[k] = 2 * own.Nu * l
	}
	d := m.distances(x, rows, dim)
	unit := 1.
	if own.Scaled {
		if unit = mean(d); unit == 0 {
			return value, checkValue("mdr", value)
		}
		for k := range d {
			d[k] /= unit
		}
	}
	if !m.follow(d, rows, own.Momentum) {
		return value, checkValue("mdr", value)
	}
	mu, s := m.average[0], m.average[1]
	share := own.Weight / float64(max(len(d), 1)) // of an unordered pair
	inner := 0.                                   // of distances with their slopes
	for k, v := range d {
		z := (v - mu) / s
		near := 0
		for l := range m.level {
			if math.Abs(z-m.level[l]) < math.Abs(z-m.level[near]) {
				near = l
			}
		}
		off := z - m.level[near]
		value += share * math.Abs(off)
		sign := signOf(off)
		m.slope[near] -= share * sign
		d[k] = share * sign / s
		inner += d[k] * v
	}
	// d has become the slopes by scaled distances v = D/unit: the slope by D is
	// (slope - mean over pairs of slope*v)/unit.
	if own.Scaled {
		for k := range d {
			d[k] = (d[k] - inner/float64(len(d))) / unit
		}
	}
	k := 0
	for i := range rows {
		for j := range i {
			m.pull(x, grad, i, j, dim, d[k])
			k++
		}
	}
	return value, checkValue("mdr", value)
}

// distances are those of pairs of different rows, each once.
func (m *MDR) distances(x []float64, rows, dim int) []float64 {
	m.distance = grow(m.distance, rows*(rows-1)/2)
	k := 0
	diff := make([]float64, dim)
	for i := range rows {
		for j := range i {
			for c := range dim {
				diff[c] = x[i*dim+c] - x[j*dim+c]
			}
			m.distance[k] = norm(diff)
			k++
		}
	}
	return m.distance
}

// follow moves the averages, and reports whether there are any.
func (m *MDR) follow(d []float64, rows int, momentum float64) bool {
	if rows < 2 {
		return m.average[1] > 0
	}
	n := float64(rows * rows)
	mean, squares := 0., 0.
	for _, v := range d {
		mean += 2 * v / n
	}
	for _, v := range d {
		squares += 2 * (v - mean) * (v - mean)
	}
	deviation := math.Sqrt((squares + float64(rows)*mean*mean) / (n - 1)) // the diagonal is 0
	if m.average[1] == 0 {
		m.average = [2]float64{mean, deviation}
	} else {
		m.average[0] += momentum * (mean - m.average[0])
		m.average[1] += momentum * (deviation - m.average[1])
	}
	return m.average[1] > 0
}

// pull adds slope times the derivative of |x_i - x_j|; at 0 there is none.
func (m *MDR) pull(x, grad []float64, i, j, dim int, slope float64) {
	a, b := x[i*dim:(i+1)*dim], x[j*dim:(j+1)*dim]
	length := 0.
	for c := range a {
		length = math.Hypot(length, a[c]-b[c])
	}
	if length == 0 || slope == 0 {
		return
	}
	for c := range a {
		v := slope * (a[c] - b[c]) / length
		grad[i*dim+c] += v
		grad[j*dim+c] -= v
	}
}

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// mean of no numbers is 0.
func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}
