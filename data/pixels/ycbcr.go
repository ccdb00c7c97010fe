package pixels

import "image"

// fromYCbCr converts a whole JPEG or (studio) WebP image of the same size as
// dst. Halved chroma is interpolated by the triangle filter, and the conversion
// is in fixed point, both as libjpeg does ("fancy upsampling", which is what
// Pillow shows); other ratios repeat chroma. WebP's luma spans 16..235, which
// image.YCbCr does not know.
func fromYCbCr(dst *RGB, src *image.YCbCr, studio bool) {
	t := newChromaTables()
	halfX := src.SubsampleRatio == image.YCbCrSubsampleRatio420 || src.SubsampleRatio == image.YCbCrSubsampleRatio422
	halfY := src.SubsampleRatio == image.YCbCrSubsampleRatio420 || src.SubsampleRatio == image.YCbCrSubsampleRatio440
	full := src.SubsampleRatio == image.YCbCrSubsampleRatio444
	cb, cr := make([]uint8, dst.W+1), make([]uint8, dst.W+1)
	for y := range dst.H {
		luma := src.Y[y*src.YStride:]
		blue, red := cb, cr
		switch {
		case full:
			blue, red = src.Cb[y*src.CStride:], src.Cr[y*src.CStride:]
		case halfX || halfY:
			spreadRow(cb, src.Cb, src.CStride, dst.W, dst.H, y, halfX, halfY)
			spreadRow(cr, src.Cr, src.CStride, dst.W, dst.H, y, halfX, halfY)
		default:
			for x := range dst.W {
				o := src.COffset(x+src.Rect.Min.X, y+src.Rect.Min.Y)
				cb[x], cr[x] = src.Cb[o], src.Cr[o]
			}
		}
		if studio {
			convertStudio(dst.Row(y), luma, blue, red)
		} else {
			t.convert(dst.Row(y), luma, blue, red)
		}
	}
}

// convertStudio writes one row of pixels from luma 16..235 and chroma 16..240
// (ITU-R BT.601), in 14-bit fixed point.
func convertStudio(dst, luma, cb, cr []uint8) {
	for x := range len(dst) / 3 {
		y, u, v := int32(luma[x])*19077>>8, int32(cb[x]), int32(cr[x])
		dst[3*x] = clip8((y + v*26149>>8 - 14234) >> 6)
		dst[3*x+1] = clip8((y - u*6419>>8 - v*13320>>8 + 8708) >> 6)
		dst[3*x+2] = clip8((y + u*33050>>8 - 17685) >> 6)
	}
}

// chromaTables hold what a chroma value adds to each channel.
type chromaTables struct {
	redCr, blueCb   [256]int32
	greenCr, greenB [256]int32 // in 1/65536
}

func newChromaTables() *chromaTables {
	t := new(chromaTables)
	const half = 1 << 15
	for i := range t.redCr {
		x := int32(i) - 128
		t.redCr[i] = (91881*x + half) >> 16   // 1.40200
		t.blueCb[i] = (116130*x + half) >> 16 // 1.77200
		t.greenCr[i] = -46802 * x             // 0.71414
		t.greenB[i] = -22554*x + half         // 0.34414
	}
	return t
}

// convert writes one row of pixels.
func (t *chromaTables) convert(dst, luma, cb, cr []uint8) {
	n := len(dst) / 3
	luma, cb, cr = luma[:n], cb[:n], cr[:n]
	for x, v := range luma {
		b, r := cb[x], cr[x]
		y := int32(v)
		p := dst[3*x : 3*x+3 : 3*x+3]
		p[0] = clip8(y + t.redCr[r])
		p[1] = clip8(y + (t.greenB[b]+t.greenCr[r])>>16)
		p[2] = clip8(y + t.blueCb[b])
	}
}

// clip8 limits to 0..255.
func clip8(v int32) uint8 {
	if uint32(v) > 255 {
		if v < 0 {
			return 0
		}
		return 255
	}
	return uint8(v)
}

// spreadRow interpolates halved chroma: w samples of output row y of an image of
// height h.
func spreadRow(dst, plane []uint8, stride, w, h, y int, halfX, halfY bool) {
	n := w
	if halfX {
		n = (w + 1) / 2
	}
	at := y
	if halfY {
		at = y / 2
	}
	near := plane[at*stride:]
	if halfX && n <= 2 { // too narrow to interpolate
		for x := range w {
			dst[x] = near[x/2]
		}
		return
	}
	if !halfY {
		doubleRow(dst, near[:n])
		return
	}
	other := at - 1
	if y%2 == 1 {
		other = at + 1
	}
	other = min(max(other, 0), (h+1)/2-1)
	far := plane[other*stride:]
	if !halfX {
		bias := int32(1 + y%2)
		for x := range n {
			dst[x] = uint8((3*int32(near[x]) + int32(far[x]) + bias) >> 2)
		}
		return
	}
	near, far = near[:n], far[:n]
	before := 3*int32(near[0]) + int32(far[0])
	now := before
	for x := 1; x < n; x++ {
		after := 3*int32(near[x]) + int32(far[x])
		out := dst[2*x-2 : 2*x : 2*x]
		out[0], out[1] = uint8((3*now+before+8)>>4), uint8((3*now+after+7)>>4)
		before, now = now, after
	}
	dst[2*n-2], dst[2*n-1] = uint8((3*now+before+8)>>4), uint8((4*now+7)>>4)
}

// doubleRow doubles one row: 3/4 of the nearer sample, 1/4 of the other.
func doubleRow(dst, src []uint8) {
	n := len(src)
	before := int32(src[0])
	now := before
	for x := 1; x < n; x++ {
		after := int32(src[x])
		out := dst[2*x-2 : 2*x : 2*x]
		out[0], out[1] = uint8((3*now+before+1)>>2), uint8((3*now+after+2)>>2)
		before, now = now, after
	}
	dst[2*n-2], dst[2*n-1] = uint8((3*now+before+1)>>2), uint8((4*now+2)>>2)
}
