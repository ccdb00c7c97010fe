package cpu

// planes are the channels of all images (N, C, area), each as one row of
// N area positions. They are the left operand of a gradient of weights, whose
// terms are the positions, and the right one of 1 x 1 convolutions, whose columns
// are.
type planes struct {
	v              []float32
	channels, area int
}

// segments calls do for the parts of positions [at, at+n) that lie in one image:
// count positions, done after the first, beginning at v[place:] in channel 0.
func (p *planes) segments(at, n int, do func(done, count, place int)) {
	for done := 0; done < n; {
		image, pos := (at+done)/p.area, (at+done)%p.area
		count := min(n-done, p.area-pos)
		do(done, count, image*p.channels*p.area+pos)
		done += count
	}
}

func (p planes) packRows(kr *kernels, dst []float32, row, rows, from, depth int) {
	for ; rows > 0; row, rows = row+kr.mr, rows-kr.mr {
		p.segments(from, depth, func(done, count, place int) {
			kr.transpose(dst[done*kr.mr:], kr.mr, p.v[place+row*p.area:], p.area, min(kr.mr, rows), count, kr.mr)
		})
		dst = dst[kr.mr*depth:]
	}
}

func (p planes) across(row, from int) (v []float32, stride, terms int) {
	image, pos := from/p.area, from%p.area
	return p.v[(image*p.channels+row)*p.area+pos:], p.area, p.area - pos
}

// packCols copies whole panels by rows of positions, and what an image leaves of
// a panel on its own.
func (p planes) packCols(kr *kernels, _ *workerScratch, dst []float32, col, cols, from, depth int) {
	panel := kr.nr * depth
	place := func(c int) []float32 { return dst[c/kr.nr*panel+c%kr.nr:] }
	p.segments(col, cols, func(done, count, at int) {
		src := p.v[at+from*p.area:]
		for count > 0 {
			if n := count / kr.nr; n > 0 && done%kr.nr == 0 {
				kr.copyPanels(place(done), panel, src, p.area, depth, n)
				n *= kr.nr
				if done, count = done+n, count-n; count == 0 {
					return
				}
				src = src[n:]
			}
			n := min(count, kr.nr-done%kr.nr)
			width := n
			if done+n == cols { // the last vector is filled
				width = roundUp(done+n, kr.vec) - done
			}
			kr.copyRows(place(done), kr.nr, src, p.area, depth, n, width)
			if done, count = done+n, count-n; count > 0 {
				src = src[n:]
			}
		}
	})
}

func (p planes) direct(col, cols, from int) (v []float32, stride int) {
	image, pos := col/p.area, col%p.area
	if pos+cols > p.area {
		return nil, 0
	}
	return p.v[(image*p.channels+from)*p.area+pos:], p.area
}

// planeTerms are planes with columns and terms exchanged: column c is channel c,
// a term a position. They are the right operand of the gradient of the weights of
// a 1 x 1 convolution.
type planeTerms planes

func (p planeTerms) packCols(kr *kernels, _ *workerScratch, dst []float32, col, cols, from, depth int) {
	all := planes(p)
	for ; cols > 0; col, cols = col+kr.nr, cols-kr.nr {
		n := min(kr.nr, cols)
		width := roundUp(n, kr.vec)
		all.segments(from, depth, func(done, count, place int) {
			kr.transpose(dst[done*kr.nr:], kr.nr, p.v[place+col*p.area:], p.area, n, count, width)
		})
		dst = dst[min(kr.nr*depth, len(dst)):]
	}
}
