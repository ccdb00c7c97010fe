package cpu

// patches are the columns that a convolution multiplies: column j is position j
// of a grid that runs through the images, term c*taps+t is the value of channel
// c at the position's tap t, 0 where the tap falls outside the map.
type patches struct {
	x     []float32 // (N, C, H, W)
	shape patchShape
	plan  *patchPlan
	// tail replaces the plan's entry for the last vector if that would reach
	// beyond the last image.
	tail []patchVector
}

// newPatches finds the places of the patches of x. With a stride of 2 it first
// puts the even columns of each row before the odd ones: neighbors among the
// positions are neighbors in memory again.
func (e *Engine) newPatches(x []float32, s patchShape) patches {
	if s.stepX == 2 {
		x = e.evenFirst(x, s.width)
	}
	p := patches{x: x, shape: s, plan: e.patchPlan(s)}
	if left := s.images % p.plan.period; left > 0 && left*s.rows*s.cols%p.plan.vec > 0 {
		p.tail = p.plan.tailOf(left*s.rows*s.cols, s.taps())
	}
	return p
}

// evenFirst returns the rows of x, width numbers each, with the numbers at even
// places before the others.
func (e *Engine) evenFirst(x []float32, width int) []float32 {
	parted := grow(&e.scratch.first, len(x))
	group := max(1, chunk/width)
	rows := len(x) / width
	e.pool.run(ceilDiv(rows, group), func(_, i int) {
		for r := i * group; r < min((i+1)*group, rows); r++ {
			to := parted[r*width : (r+1)*width]
			e.kernels.split(to[:(width+1)/2], to[(width+1)/2:], x[r*width:(r+1)*width])
		}
	})
	return parted
}

// patchShape is all that the places of values in a patch depend on.
type patchShape struct {
	images, channels, height, width int // of x
	rows, cols                      int // positions of an image
	stepY, stepX                    int // between positions
	// Tap t = r*tapCols + s of a position is y = row*stepY + firstY + r*tapStepY,
	// and x likewise.
	tapRows, tapCols   int
	firstY, firstX     int
	tapStepY, tapStepX int
}

func (p patchShape) taps() int { return p.tapRows * p.tapCols }

func (p patchShape) positions() int { return p.images * p.rows * p.cols }

// patchPlan says where the values of a patch lie, for each vector of adjacent
// positions and each tap, in channel 0. The pattern repeats after period images,
// when the positions so far fill whole panels.
type patchPlan struct {
	vec, period int
	perPeriod   int           // vectors in a period
	vectors     []patchVector // [vector][tap]
	taps        [][]uint64    // the runs of all taps of a vector, nil if one has none
	// tails are entries for the last vector of fewer images, by positions.
	tails map[int][]patchVector
}

// moreRuns marks a run of a tap that is not its last, among those of all taps.
const moreRuns = 1 << 48

// allRuns joins the runs of the taps of a vector.
func allRuns(taps []patchVector) []uint64 {
	var all []uint64
	for _, v := range taps {
		if v.runs == nil {
			return nil
		}
		for i, r := range v.runs {
			if i < len(v.runs)-1 {
				r |= moreRuns
			}
			all = append(all, r)
		}
	}
	return all
}

// patchVector is where the lanes of a vector lie, relative to the first image of
// the period.
type patchVector struct {
	// at is the place of each lane, or -1 where the patch has no value.
	at []int32
	// runs covers the lanes by runs of adjacent values, if there are few; a
	// kernel that cannot use them goes by at.
	//
	// A run has its lanes in the upper half; lane l lies at off + l with off, which
	// may be negative, in the lower half.
	runs []uint64
}

// maxRuns is how many runs a vector may have: more are read lane by lane.
const maxRuns = 4

// patchPlan returns the plan for a shape, made at its first use.
func (e *Engine) patchPlan(s patchShape) *patchPlan {
	area, period := s.rows*s.cols, 1
	for period < s.images && period*area%e.kernels.nr != 0 {
		period++
	}
	s.images = period
	if p := e.plans[s]; p != nil {
		return p
	}
	if len(e.plans) >= maxPlans {
		clear(e.plans)
	}
	p := makePlan(s, e.kernels.vec)
	e.plans[s] = p
	return p
}

// maxPlans bounds what images of ever new sizes leave behind.
const maxPlans = 512

// makePlan lays out the first s.images images.
func makePlan(s patchShape, vec int) *patchPlan {
	p := &patchPlan{vec: vec, period: s.images, perPeriod: ceilDiv(s.images*s.rows*s.cols, vec)}
	p.vectors = make([]patchVector, p.perPeriod*s.taps())
	at := make([]int32, len(p.vectors)*vec)
	for i := range p.vectors {
		v := &p.vectors[i]
		v.at, at = at[:vec:vec], at[vec:]
		for l := range v.at {
			v.at[l] = int32(s.place(i/s.taps()*vec+l, i%s.taps()))
		}
		v.findRuns()
	}
	if s.channels < s.taps() {
		for i := range p.perPeriod {
			p.taps = append(p.taps, allRuns(p.vectors[i*s.taps():(i+1)*s.taps()]))
		}
	}
	return p
}

// tailOf returns the entry of the vector in which the given number of positions
// of a period end.
func (p *patchPlan) tailOf(positions, taps int) []patchVector {
	if t := p.tails[positions]; t != nil {
		return t
	}
	at := positions / p.vec * taps
	tail := make([]patchVector, taps)
	for t, v := range p.vectors[at : at+taps] {
		for l, place := range v.at {
			if l >= positions%p.vec {
				place = -1
			}
			tail[t].at = append(tail[t].at, place)
		}
		tail[t].findRuns()
	}
	if p.tails == nil {
		p.tails = make(map[int][]patchVector)
	}
	p.tails[positions] = tail
	return tail
}

// place returns where tap t of position j lies, or -1. Positions after the last
// image have no values.
func (s patchShape) place(j, t int) int {
	area := s.rows * s.cols
	image, j := j/area, j%area
	y := j/s.cols*s.stepY + s.firstY + t/s.tapCols*s.tapStepY
	x := j%s.cols*s.stepX + s.firstX + t%s.tapCols*s.tapStepX
	if image >= s.images || y < 0 || y >= s.height || x < 0 || x >= s.width {
		return -1
	}
	if s.stepX == 2 {
		x = x/2 + x%2*((s.width+1)/2)
	}
	return (image*s.channels*s.height+y)*s.width + x
}

func (v *patchVector) findRuns() {
	for l, at := range v.at {
		if at < 0 {
			continue
		}
		off, lane := uint64(uint32(at-int32(l))), uint64(1)<<(32+l)
		n := len(v.runs)
		if n > 0 && uint32(v.runs[n-1]) == uint32(off) {
			v.runs[n-1] |= lane
			continue
		}
		if n == maxRuns {
			v.runs = nil
			return
		}
		v.runs = append(v.runs, off|lane)
	}
	if v.runs == nil {
		v.runs = []uint64{0}
	}
}

// gather reads the vector at position j for terms [from, from+count): that of term
// t goes to dst[(t-from)*stride:].
func (p *patches) gather(kr *kernels, dst []float32, stride, j, from, count int) {
	taps, area := p.shape.taps(), p.shape.height*p.shape.width
	vectors, runs, base := p.vector(j)
	first, last := ceilDiv(from, taps), (from+count)/taps // whole channels
	if runs != nil && first < last {
		for c := first; c < last; c++ {
			kr.gatherTaps(dst[(c*taps-from)*stride:], stride, p.x[base+c*area:], taps, runs)
		}
		if first*taps == from && last*taps == from+count {
			return
		}
	} else {
		first, last = 0, 0
	}
	for t := range vectors {
		c, n := p.channelsOf(t, from, from+count)
		for n > 0 { // before and after the whole channels
			if c == first && last > first {
				c, n = last, n-(last-first)
				continue
			}
			m := n
			if c < first && last > first {
				m = min(n, first-c)
			}
			kr.gather(dst[(c*taps+t-from)*stride:], taps*stride, p.x[base+c*area:], area, m, &vectors[t])
			c, n = c+m, n-m
		}
	}
}

// vector returns the plan's entry for the vector that starts at position j, and
// where its period starts in x.
func (p *patches) vector(j int) (taps []patchVector, runs []uint64, base int) {
	v := j / p.plan.vec
	period, at := v/p.plan.perPeriod, v%p.plan.perPeriod
	n := p.shape.taps()
	taps = p.plan.vectors[at*n : (at+1)*n]
	if p.plan.taps != nil {
		runs = p.plan.taps[at]
	}
	if p.tail != nil && j+p.plan.vec > p.shape.positions() {
		taps, runs = p.tail, nil
	}
	return taps, runs, period * p.plan.period * p.shape.channels * p.shape.height * p.shape.width
}

// channelsOf returns the channels whose term for tap t lies in [from, to).
func (p *patches) channelsOf(t, from, to int) (first, count int) {
	n := p.shape.taps()
	first = max(0, ceilDiv(from-t, n))
	return first, max(0, ceilDiv(to-t, n)-first)
}

// packCols makes patches the right operand of a forward product.
func (p *patches) packCols(kr *kernels, _ *workerScratch, dst []float32, col, cols, from, depth int) {
	for c := 0; c < cols; c += kr.vec {
		p.gather(kr, dst[c/kr.nr*kr.nr*depth+c%kr.nr:], kr.nr, col+c, from, depth)
	}
}

// patchTerms are patches with columns and terms exchanged: column c*taps+t, term
// j. They are the right operand of the gradient of weights.
type patchTerms struct{ patches }

func (p patchTerms) packCols(kr *kernels, w *workerScratch, dst []float32, col, cols, from, depth int) {
	rows := grow(&w.rows, cols*kr.vec)
	for j := 0; j < depth; j += kr.vec {
		p.gather(kr, rows, kr.vec, from+j, col, cols)
		n := min(kr.vec, depth-j)
		for c := 0; c < cols; c += kr.vec {
			panel := dst[c/kr.nr*kr.nr*depth+j*kr.nr+c%kr.nr:]
			kr.transpose(panel, kr.nr, rows[c*kr.vec:], kr.vec, min(kr.vec, cols-c), n, kr.vec)
		}
	}
}
