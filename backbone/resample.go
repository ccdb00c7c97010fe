package backbone

import (
	"fmt"
	"math"
	"strings"
)

// Positions names how a table of positions, of a square grid, is brought to another grid.
// All are called bicubic where they come from, and differ visibly.
type Positions string

// The four ways. Sample i of n new ones lies, among from old ones of which the first has its
// middle at 0, at a place of its own:
const (
	// PositionsPlain samples at (i + 0.5)*from/n - 0.5, as timm to 0.6 and transformers do.
	PositionsPlain Positions = "plain"
	// PositionsOffset samples at (i + 0.5)*from/(n + 0.1) - 0.5, as DINO and DINOv2 without
	// registers do.
	PositionsOffset Positions = "offset"
	// PositionsAntialias weighs all old samples within the kernel, which is as much wider as
	// the new grid is coarser, as timm from 0.8 on, OpenCLIP and DINOv2 with registers do.
	PositionsAntialias Positions = "antialias"
	// PositionsAlignCorners samples at i*(from - 1)/(n - 1), as torchvision does.
	PositionsAlignCorners Positions = "align_corners"
)

// positionMethods lists the values of the option positions.
func positionMethods() []string {
	return []string{string(PositionsPlain), string(PositionsOffset), string(PositionsAntialias), string(PositionsAlignCorners)}
}

func (p Positions) check() error {
	for _, m := range positionMethods() {
		if string(p) == m {
			return nil
		}
	}
	return fmt.Errorf("%s=%s (there is: %s)", optPositions, p, strings.Join(positionMethods(), ", "))
}

// tap is an old sample and its weight in a new one.
type tap struct {
	at     int
	weight float64
}

// axis returns the taps of n new samples among from old ones.
func (p Positions) axis(from, n int) [][]tap {
	taps := make([][]tap, n)
	for i := range taps {
		switch p {
		case PositionsAntialias:
			taps[i] = wideTaps(i, from, n)
		case PositionsOffset:
			taps[i] = cubicTaps((float64(i)+.5)*float64(from)/(float64(n)+.1)-.5, from)
		case PositionsAlignCorners:
			at := 0.
			if n > 1 {
				at = float64(i) * float64(from-1) / float64(n-1)
			}
			taps[i] = cubicTaps(at, from)
		default:
			taps[i] = cubicTaps((float64(i)+.5)*float64(from)/float64(n)-.5, from)
		}
	}
	return taps
}

// cubicTaps are the four samples about a place. What lies beyond an edge has the edge's
// values.
func cubicTaps(at float64, from int) []tap {
	floor := math.Floor(at)
	taps := make([]tap, 4)
	for k := range taps {
		taps[k] = tap{min(max(int(floor)+k-1, 0), from-1), cubic(at-floor-float64(k-1), -.75)}
	}
	return taps
}

// wideTaps are the samples under a kernel that is as much wider as the new grid is coarser.
// What lies beyond an edge is left out, and the weights of the rest are brought to 1.
func wideTaps(i, from, n int) []tap {
	step := float64(from) / float64(n)
	wide := max(step, 1)
	center := (float64(i) + .5) * step
	first, end := max(int(center-2*wide+.5), 0), min(int(center+2*wide+.5), from)
	var taps []tap
	sum := 0.
	for k := first; k < end; k++ {
		w := cubic((float64(k)-center+.5)/wide, -.5)
		taps = append(taps, tap{k, w})
		sum += w
	}
	for k := range taps {
		taps[k].weight /= sum
	}
	return taps
}

// cubic is the kernel of cubic convolution (Keys 1981).
func cubic(t, a float64) float64 {
	switch t = math.Abs(t); {
	case t <= 1:
		return ((a+2)*t-(a+3))*t*t + 1
	case t < 2:
		return ((a*t-5*a)*t+8*a)*t - 4*a
	}
	return 0
}

// resampleGrid brings a grid of from x from vectors of d numbers to h x w vectors.
func (p Positions) resampleGrid(grid []float32, from, h, w, d int) []float32 {
	rows := make([]float64, h*from*d) // (h, from, d): first along the columns
	for i, taps := range p.axis(from, h) {
		for _, t := range taps {
			for j, v := range grid[t.at*from*d : (t.at+1)*from*d] {
				rows[i*from*d+j] += t.weight * float64(v)
			}
		}
	}
	out := make([]float32, h*w*d)
	sum := make([]float64, d)
	across := p.axis(from, w)
	for i := range h {
		for j, taps := range across {
			clear(sum)
			for _, t := range taps {
				at := (i*from + t.at) * d
				for c, v := range rows[at : at+d] {
					sum[c] += t.weight * v
				}
			}
			for c, v := range sum {
				out[(i*w+j)*d+c] = float32(v)
			}
		}
	}
	return out
}

// matrix returns the rows (h*w, from*from) that resampleGrid multiplies a grid by.
func (p Positions) matrix(from, h, w int) []float32 {
	m := make([]float32, h*w*from*from)
	across := p.axis(from, w)
	for i, down := range p.axis(from, h) {
		for j := range across {
			row := m[(i*w+j)*from*from:][:from*from]
			for _, a := range down {
				for _, b := range across[j] {
					row[a.at*from+b.at] += float32(a.weight * b.weight)
				}
			}
		}
	}
	return m
}
