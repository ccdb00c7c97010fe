package pixels

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"io"
	"math/bits"
)

// BMP is read here: x/image/bmp knows neither 16 bits, masks, run lengths nor the
// heads of OS/2.

// bmpImage is what the heads of a file say.
type bmpImage struct {
	w, h    int
	topDown bool
	bits    int // of a pixel
	packing uint32
	masks   [4]uint32 // R, G, B, A of 16 and 32 bits
	palette color.Palette
	at      int // place of the pixels
}

// Ways of packing. The numbers 3 and 4 are others in a head of OS/2.
const (
	bmpPlain      = 0
	bmpRuns8      = 1
	bmpRuns4      = 2
	bmpMasks      = 3
	bmpJPEG       = 4
	bmpPNG        = 5
	bmpAlphaMasks = 6
)

// Sizes of the headers in bytes. The size of the second header says which kind it is.
const (
	bmpFileHead = 14
	bmpCore     = 12 // OS/2 1
	bmpInfo     = 40
	bmpInfo3    = 56 // with masks for R, G, B and alpha
	bmpOS2      = 64 // OS/2 2, which may be shorter
)

// readBMP reads the heads and the palette.
func readBMP(b []byte) (*bmpImage, error) {
	if len(b) < bmpFileHead+4 {
		return nil, io.ErrUnexpectedEOF
	}
	size := int(min(binary.LittleEndian.Uint32(b[bmpFileHead:]), 1<<20))
	if len(b) < bmpFileHead+size && size <= 1<<10 {
		return nil, io.ErrUnexpectedEOF
	}
	m := &bmpImage{}
	var used uint32
	entry := 4
	switch {
	case size == bmpCore:
		d := b[bmpFileHead:]
		m.w, m.h, m.bits = int(binary.LittleEndian.Uint16(d[4:])), int(binary.LittleEndian.Uint16(d[6:])), int(binary.LittleEndian.Uint16(d[10:]))
		entry = 3
	case size >= 16 && size <= 1<<10:
		used = m.info(append([]byte(nil), b[bmpFileHead:bmpFileHead+size]...))
	default:
		return nil, fmt.Errorf("a head of %d bytes", size)
	}
	if err := m.checkKind(size); err != nil {
		return nil, err
	}
	at := bmpFileHead + size
	if err := m.readMasks(b, &at, size); err != nil {
		return nil, err
	}
	return m, m.readPalette(b, at, entry, used)
}

// info reads a head of 16 bytes or more; what is beyond its end counts as 0. It
// returns the number of colors.
func (m *bmpImage) info(d []byte) (colors uint32) {
	d = append(d, make([]byte, bmpInfo)...)
	m.w, m.h = int(int32(binary.LittleEndian.Uint32(d[4:]))), int(int32(binary.LittleEndian.Uint32(d[8:])))
	if m.h < 0 {
		m.h, m.topDown = -m.h, true
	}
	m.bits, m.packing = int(binary.LittleEndian.Uint16(d[14:])), binary.LittleEndian.Uint32(d[16:])
	return binary.LittleEndian.Uint32(d[32:])
}

// checkKind refuses what is not read.
func (m *bmpImage) checkKind(size int) error {
	os2 := size == bmpOS2 || size > bmpCore && size < bmpInfo
	switch {
	case m.packing == bmpMasks && os2:
		return kindError("packed by Huffman codes")
	case m.packing == bmpJPEG && os2:
		return kindError("run lengths of 24 bits")
	case m.packing == bmpJPEG:
		return kindError("a JPEG inside")
	case m.packing == bmpPNG:
		return kindError("a PNG inside")
	case m.packing > bmpAlphaMasks:
		return kindError(fmt.Sprintf("packing %d", m.packing))
	}
	allowed := map[uint32][]int{
		bmpPlain: {1, 2, 4, 8, 16, 24, 32}, bmpRuns8: {8}, bmpRuns4: {4}, bmpMasks: {16, 32}, bmpAlphaMasks: {16, 32},
	}[m.packing]
	for _, bits := range allowed {
		if m.bits == bits {
			return nil
		}
	}
	return kindError(fmt.Sprintf("%d bits a pixel with packing %d", m.bits, m.packing))
}

// readMasks finds which bits are which color. They stand in the head, or behind a
// short one.
func (m *bmpImage) readMasks(b []byte, at *int, size int) error {
	if m.bits == 16 {
		m.masks = [4]uint32{0x7c00, 0x3e0, 0x1f}
	} else {
		m.masks = [4]uint32{0xff0000, 0xff00, 0xff}
	}
	if m.packing != bmpMasks && m.packing != bmpAlphaMasks {
		return nil
	}
	count := 3
	if m.packing == bmpAlphaMasks || size >= bmpInfo3 {
		count = 4
	}
	from := bmpFileHead + bmpInfo
	if size == bmpInfo {
		*at += 4 * count
	}
	if len(b) < from+4*count {
		return io.ErrUnexpectedEOF
	}
	for i := range count {
		m.masks[i] = binary.LittleEndian.Uint32(b[from+4*i:])
	}
	return nil
}

// readPalette reads the colors between the headers and the pixels. Where the palette
// is shorter than used, the missing colors are black.
func (m *bmpImage) readPalette(b []byte, at, entry int, used uint32) error {
	m.at = int(binary.LittleEndian.Uint32(b[10:]))
	if m.bits > 8 {
		if m.at < at {
			m.at = at
		}
		return nil
	}
	n := 1 << m.bits
	if used > 0 {
		n = int(min(used, uint32(n)))
	}
	if m.at >= at {
		n = min(n, (m.at-at)/entry)
	} else {
		m.at = at + n*entry
	}
	if len(b) < at+n*entry {
		return io.ErrUnexpectedEOF
	}
	m.palette = make(color.Palette, 256)
	for i := range m.palette {
		m.palette[i] = color.RGBA{A: 255}
		if i < n {
			c := b[at+entry*i:]
			m.palette[i] = color.RGBA{c[2], c[1], c[0], 255}
		}
	}
	return nil
}

func bmpHeader(file []byte) (header, error) {
	m, err := readBMP(file)
	if err != nil {
		return header{}, err
	}
	bytes := int64(4)
	if m.palette != nil {
		bytes = 1
	}
	return header{m.w, m.h, bytes * int64(max(m.w, 0)) * int64(m.h)}, nil
}

func decodeBMP(_ context.Context, file []byte) (image.Image, error) {
	m, err := readBMP(file)
	if err != nil {
		return nil, err
	}
	pixels := file[min(m.at, len(file)):]
	if m.palette == nil {
		return m.colors(pixels)
	}
	out := image.NewPaletted(image.Rect(0, 0, m.w, m.h), m.palette)
	if m.packing == bmpPlain {
		return out, m.indices(out, pixels)
	}
	return out, m.runs(out, pixels)
}

// row returns where row n of the file, counted in its order, stands in the picture.
func (m *bmpImage) row(n int) int {
	if m.topDown {
		return n
	}
	return m.h - 1 - n
}

// rows calls use with each row of pixels that are not packed. They begin at
// multiples of four bytes; the last may end early.
func (m *bmpImage) rows(b []byte, use func(y int, row []byte)) error {
	stride, size := (m.w*m.bits+31)/32*4, (m.w*m.bits+7)/8
	for n := range m.h {
		if len(b) < size {
			return io.ErrUnexpectedEOF
		}
		use(m.row(n), b[:size])
		b = b[min(stride, len(b)):]
	}
	return nil
}

// indices unpacks 1, 2, 4 or 8 bits a pixel.
func (m *bmpImage) indices(out *image.Paletted, b []byte) error {
	each, mask := 8/m.bits, byte(1<<m.bits-1)
	return m.rows(b, func(y int, row []byte) {
		to := out.Pix[y*out.Stride:][:m.w]
		for x := range to {
			to[x] = row[x/each] >> (8 - m.bits - x%each*m.bits) & mask
		}
	})
}

// colors reads 16, 24 or 32 bits a pixel.
func (m *bmpImage) colors(b []byte) (image.Image, error) {
	out := image.NewNRGBA(image.Rect(0, 0, m.w, m.h))
	var channels [4]bmpChannel
	for i, mask := range m.masks {
		channels[i] = newBMPChannel(mask)
	}
	if m.masks[3] == 0 {
		channels[3].table[0] = 255
	}
	size := m.bits / 8
	err := m.rows(b, func(y int, row []byte) {
		to := out.Pix[y*out.Stride:]
		for x := range m.w {
			p, q := row[size*x:size*x+size], to[4*x:4*x+4:4*x+4]
			v := uint32(p[0]) | uint32(p[1])<<8
			if size > 2 {
				v |= uint32(p[2]) << 16
			}
			if size > 3 {
				v |= uint32(p[3]) << 24
			}
			for c := range q {
				q[c] = channels[c].of(v)
			}
		}
	})
	return out, err
}

// bmpChannel takes a color out of a pixel.
type bmpChannel struct {
	mask  uint32
	shift int // to its upper 8 bits
	table [256]uint8
}

// newBMPChannel stretches fewer than 8 bits as Pillow does.
func newBMPChannel(mask uint32) bmpChannel {
	c := bmpChannel{mask: mask, shift: bits.TrailingZeros32(mask) & 31}
	n := bits.Len32(mask >> c.shift)
	if n > 8 {
		c.shift += n - 8
		n = 8
	}
	for i := range c.table {
		if limit := 1<<n - 1; limit > 0 {
			c.table[i] = uint8(min(i, limit) * 255 / limit)
		}
	}
	return c
}

func (c *bmpChannel) of(v uint32) uint8 { return c.table[uint8(v&c.mask>>c.shift)] }

// runs unpacks run lengths. Pixels that are skipped have index 0, and what goes
// beyond the end of a row is left out.
func (m *bmpImage) runs(out *image.Paletted, b []byte) error {
	const endOfRow, endOfImage, skip = 0, 1, 2
	x, n := 0, 0
	put := func(index byte) {
		if x < m.w && n < m.h {
			out.Pix[m.row(n)*out.Stride+x] = index
		}
		x++
	}
	for n < m.h {
		if len(b) < 2 {
			if n == m.h-1 && x >= m.w {
				return nil
			}
			return io.ErrUnexpectedEOF
		}
		count, code := int(b[0]), b[1]
		b = b[2:]
		switch {
		case count > 0:
			for i := range count {
				put(m.index([]byte{code, code}, i))
			}
		case code == endOfRow:
			x, n = 0, n+1
		case code == endOfImage:
			return nil
		case code == skip:
			if len(b) < 2 {
				return io.ErrUnexpectedEOF
			}
			x, n, b = x+int(b[0]), n+int(b[1]), b[2:]
		default:
			size := (int(code)*m.bits + 7) / 8
			if len(b) < size {
				return io.ErrUnexpectedEOF
			}
			for i := range int(code) {
				put(m.index(b, i))
			}
			b = b[min(size+size&1, len(b)):]
		}
	}
	return nil
}

// index is number i of indices of 4 or 8 bits; a run of 4 bits repeats two.
func (m *bmpImage) index(b []byte, i int) byte {
	if m.bits == 8 {
		return b[i%len(b)]
	}
	return b[i/2%len(b)] >> (4 - i%2*4) & 15
}
