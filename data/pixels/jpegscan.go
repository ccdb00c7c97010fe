package pixels

import (
	"context"
	"image"
)

// decode reads all codes of the scan, and transforms the blocks that the area
// needs.
func (j *jpegImage) decode(ctx context.Context, area image.Rectangle) (*RGB, error) {
	mcuW, mcuH := 8*j.components[0].h, 8*j.components[0].v
	kept := j.keep(area, mcuW, mcuH) // in MCUs
	for i := range j.components {
		c := &j.components[i]
		c.stride = 8 * c.h * kept.Dx()
		c.plane = make([]uint8, c.stride*8*c.v*kept.Dy())
	}
	if !j.readScan(ctx, kept, (j.w+mcuW-1)/mcuW, (j.h+mcuH-1)/mcuH) {
		return nil, errOther
	}
	// The pixels of the MCUs kept, cut at the border of the image.
	x0, y0 := kept.Min.X*mcuW, kept.Min.Y*mcuH
	out := NewRGB(min(kept.Max.X*mcuW, j.w)-x0, min(kept.Max.Y*mcuH, j.h)-y0)
	j.convert(out)
	return out.Crop(area.Min.X-x0, area.Min.Y-y0, area.Dx(), area.Dy()), nil
}

// keep is the range of MCUs that the pixels of an area depend on: chroma is
// interpolated from the nearest sample outside, too.
func (j *jpegImage) keep(area image.Rectangle, mcuW, mcuH int) image.Rectangle {
	area = area.Inset(-2).Intersect(image.Rect(0, 0, j.w, j.h))
	kept := image.Rect(area.Min.X/mcuW, area.Min.Y/mcuH, (area.Max.X+mcuW-1)/mcuW, (area.Max.Y+mcuH-1)/mcuH)
	if kept.Min.X > 0 && j.w-kept.Min.X*mcuW < 8 {
		kept.Min.X-- // a strip this narrow would be interpolated in another way
	}
	return kept
}

// readScan decodes the MCUs, across x down of them.
func (j *jpegImage) readScan(ctx context.Context, kept image.Rectangle, across, down int) bool {
	s := &bitStream{data: j.scan}
	var dc [3]int32
	var block [64]int32
	restarts := 0
	for n := range across * down {
		if j.restart > 0 && n > 0 && n%j.restart == 0 {
			if !s.restart(restarts % 8) {
				return false
			}
			restarts++
			dc = [3]int32{}
		}
		at := image.Pt(n%across, n/across)
		if at.X == 0 && ctx.Err() != nil {
			return false
		}
		inside := at.In(kept)
		for i := range j.components {
			c := &j.components[i]
			quant := j.quant[c.quant]
			for k := range c.h * c.v {
				if !inside {
					if _, ok := s.block(nil, &dc[i], j.dc[c.dc], j.ac[c.ac], quant); !ok {
						return false
					}
					continue
				}
				last, ok := s.block(&block, &dc[i], j.dc[c.dc], j.ac[c.ac], quant)
				if !ok {
					return false
				}
				x, y := (at.X-kept.Min.X)*c.h+k%c.h, (at.Y-kept.Min.Y)*c.v+k/c.h
				inverseDCT(&block, last, c.plane[8*y*c.stride+8*x:], c.stride)
			}
		}
	}
	return !s.ended() && s.endOfImage()
}

// endOfImage says whether the scan is followed by the end of the image, as far
// as can be seen: a cut file is not.
func (s *bitStream) endOfImage() bool {
	at := s.at
	for at+1 < len(s.data) && s.data[at] == 0xff && s.data[at+1] == 0xff {
		at++
	}
	return at+1 < len(s.data) && s.data[at] == 0xff && s.data[at+1] == 0xd9 && s.n-s.missed < 8
}

// zigzag is the place, row by row, of each coefficient of the stream. What a
// damaged stream counts beyond the end is caught by the places behind.
var zigzag = [64]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

// block decodes the 64 coefficients of a block, multiplied by their step sizes,
// and returns the place in the stream of the last one that is not 0. With a nil
// block nothing is kept but the average for the next one.
func (s *bitStream) block(b *[64]int32, dc *int32, dcCodes, acCodes *jpegCodes, quant *[64]int32) (last int, ok bool) {
	if s.n < 32 {
		s.fill()
	}
	e := dcCodes.fast[s.bits>>(64-fastBits)]
	size := uint8(e >> 8)
	if e != 0 {
		s.take(int(e & 31))
	} else if size, ok = dcCodes.long(s); !ok {
		return 0, false
	}
	if size > 11 {
		return 0, false
	}
	if size > 0 {
		*dc += extend(s.take(int(size)), int(size))
	}
	if b != nil {
		*b = [64]int32{*dc * quant[0]}
	}
	for k := 1; k < 64; k++ {
		if s.n < 32 {
			s.fill()
		}
		e := acCodes.fast[s.bits>>(64-fastBits)]
		var value int32
		if e&whole != 0 {
			n := e & 31
			s.bits <<= n
			s.n -= int(n)
			k += int(e >> 12 & 15)
			value = int32(e) >> 16
		} else {
			symbol := uint8(e >> 8)
			if e != 0 {
				s.take(int(e & 31))
			} else if symbol, ok = acCodes.long(s); !ok {
				return 0, false
			}
			size := int(symbol & 15)
			if size == 0 {
				if symbol != 0xf0 {
					if symbol != 0 {
						return 0, false
					}
					break // the rest is 0
				}
				k += 15
				continue
			}
			k += int(symbol >> 4)
			if size > 10 {
				return 0, false
			}
			value = extend(s.take(size), size)
		}
		if k > 63 {
			return 0, false
		}
		if b != nil {
			b[zigzag[k]] = value * quant[k]
			last = k
		}
	}
	return last, true
}

// convert makes pixels of the planes.
func (j *jpegImage) convert(out *RGB) {
	y := &j.components[0]
	if len(j.components) == 1 {
		for row := range out.H {
			replicate(out.Row(row), y.plane[row*y.stride:], 1)
		}
		return
	}
	ratio := [2][2]image.YCbCrSubsampleRatio{
		{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio440},
		{image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420},
	}[y.h-1][y.v-1]
	fromYCbCr(out, &image.YCbCr{
		Y: y.plane, Cb: j.components[1].plane, Cr: j.components[2].plane,
		YStride: y.stride, CStride: j.components[1].stride, SubsampleRatio: ratio, Rect: out.Bounds(),
	}, false)
}
