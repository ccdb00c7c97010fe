package cpu

// featureMaps is a tensor (N, C, H, W) of which rows are read for a vector of channels
// at a time.
type featureMaps struct {
	v                               []float32
	images, channels, height, width int
}

// row sets dst, a vector a place, to row y of the kr.vec channels from channel
// on, with left places of padding before it and as many as there is room for
// behind. Rows outside are padding.
func (m *featureMaps) row(kr *kernels, dst []float32, image, channel, y, left int) {
	if y < 0 || y >= m.height {
		clear(dst)
		return
	}
	n := min(m.width, len(dst)/kr.vec-left)
	clear(dst[:left*kr.vec])
	area := m.height * m.width
	src := m.v[(image*m.channels+channel)*area+y*m.width:]
	kr.transpose(dst[left*kr.vec:], kr.vec, src, area, min(kr.vec, m.channels-channel), n, kr.vec)
	clear(dst[(left+n)*kr.vec:])
}
