package pixels

import (
	"context"
	"encoding/binary"
	"errors"
	"image"
)

// The usual photograph, a baseline JPEG of gray or YCbCr, is decoded here and not
// by image/jpeg: only the part that is asked for is transformed, and the numbers
// are those of libjpeg's accurate integer transform, hence of Pillow. Whatever is
// rarer or damaged is left to image/jpeg, which also words the errors.

// errOther says that a JPEG is not of the kind that is decoded here.
var errOther = errors.New("not a plain baseline JPEG")

// jpegImage is what the segments before the pixels say.
type jpegImage struct {
	w, h       int
	components []jpegComponent
	quant      [4]*[64]int32 // in zigzag order
	dc, ac     [4]*jpegCodes
	restart    int // MCUs between restarts, 0 for none
	adobe      int // transform that an Adobe segment names, -1 without one
	jfif       bool
	scan       []byte // from the first byte of pixels on
}

type jpegComponent struct {
	id     uint8
	h, v   int // samples across and down an MCU, in blocks
	quant  uint8
	dc, ac uint8
	plane  []uint8
	stride int
}

// decodeBaseline decodes the area of a JPEG, which must lie inside it. The error
// is errOther also where the file is damaged, and where the context ends.
func decodeBaseline(ctx context.Context, file []byte, area image.Rectangle) (*RGB, error) {
	j := &jpegImage{adobe: -1}
	if err := j.parse(file); err != nil {
		return nil, err
	}
	if area.Empty() || !area.In(image.Rect(0, 0, j.w, j.h)) {
		return nil, errOther
	}
	return j.decode(ctx, area)
}

// parse reads the segments up to the first scan.
func (j *jpegImage) parse(file []byte) error {
	at := 2
	for {
		for at < len(file) && file[at] == 0xff { // any number of fill bytes
			at++
		}
		if at+3 > len(file) || at < 3 || file[at-1] != 0xff {
			return errOther
		}
		marker, size := file[at], int(binary.BigEndian.Uint16(file[at+1:]))
		if size < 2 || at+1+size > len(file) {
			return errOther
		}
		body := file[at+3 : at+1+size]
		at += 1 + size
		var ok bool
		switch {
		case marker == 0xc0 || marker == 0xc1:
			ok = j.frame(body)
		case marker == 0xc4:
			ok = j.codes(body)
		case marker == 0xda:
			if !j.start(body) {
				return errOther
			}
			j.scan = file[at:]
			return nil
		case marker == 0xdb:
			ok = j.quantization(body)
		case marker == 0xdd:
			if ok = len(body) == 2; ok {
				j.restart = int(binary.BigEndian.Uint16(body))
			}
		case marker == 0xee:
			if len(body) >= 12 && string(body[:5]) == "Adobe" {
				j.adobe = int(body[11])
			}
			ok = true
		case marker == 0xe0:
			j.jfif = j.jfif || len(body) >= 5 && string(body[:5]) == "JFIF\x00"
			ok = true
		case marker >= 0xe1 && marker <= 0xef || marker == 0xfe:
			ok = true
		}
		if !ok {
			return errOther
		}
		if at >= len(file) || file[at] != 0xff {
			return errOther
		}
	}
}

// frame reads a start of frame.
func (j *jpegImage) frame(b []byte) bool {
	if len(b) < 6 || b[0] != 8 || j.components != nil {
		return false
	}
	j.h, j.w = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	n := int(b[5])
	if j.w == 0 || j.h == 0 || n != 1 && n != 3 || len(b) != 6+3*n {
		return false
	}
	for i := range n {
		c := b[6+3*i:]
		j.components = append(j.components, jpegComponent{id: c[0], h: int(c[1] >> 4), v: int(c[1] & 15), quant: c[2]})
		if c[2] > 3 {
			return false
		}
	}
	if n == 1 {
		j.components[0].h, j.components[0].v = 1, 1 // a lone component has blocks in rows
		return true
	}
	y, cb, cr := j.components[0], j.components[1], j.components[2]
	return y.h >= 1 && y.h <= 2 && y.v >= 1 && y.v <= 2 && cb.h == 1 && cb.v == 1 && cr.h == 1 && cr.v == 1
}

// quantization reads tables of step sizes.
func (j *jpegImage) quantization(b []byte) bool {
	for len(b) > 0 {
		wide, id := b[0]>>4, b[0]&15
		size := 64 * (1 + int(wide))
		if wide > 1 || id > 3 || len(b) < 1+size {
			return false
		}
		t := new([64]int32)
		for i := range t {
			if wide == 1 {
				t[i] = int32(binary.BigEndian.Uint16(b[1+2*i:]))
			} else {
				t[i] = int32(b[1+i])
			}
		}
		j.quant[id] = t
		b = b[1+size:]
	}
	return true
}

// codes reads Huffman tables.
func (j *jpegImage) codes(b []byte) bool {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return false
		}
		n := 0
		for _, c := range b[1:17] {
			n += int(c)
		}
		if n == 0 || n > 256 || len(b) < 17+n {
			return false
		}
		t, ok := newJPEGCodes([16]uint8(b[1:17]), b[17:17+n], b[0]>>4 == 1)
		if !ok {
			return false
		}
		if b[0]>>4 == 1 {
			j.ac[b[0]&15] = t
		} else {
			j.dc[b[0]&15] = t
		}
		b = b[17+n:]
	}
	return true
}

// start reads the head of a scan, which must hold all components, and checks that
// all tables are there.
func (j *jpegImage) start(b []byte) bool {
	n := len(j.components)
	if n == 0 || len(b) != 4+2*n || int(b[0]) != n || b[1+2*n] != 0 || b[2+2*n] != 63 || b[3+2*n] != 0 {
		return false
	}
	for i := range j.components {
		c := &j.components[i]
		id, tables := b[1+2*i], b[2+2*i]
		c.dc, c.ac = tables>>4, tables&15
		if id != c.id || c.dc > 3 || c.ac > 3 || j.dc[c.dc] == nil || j.ac[c.ac] == nil || j.quant[c.quant] == nil {
			return false
		}
	}
	if n == 1 {
		return true
	}
	// Three components may be R, G, B: by the Adobe segment, or by their names.
	rgb := j.components[0].id == 'R' && j.components[1].id == 'G' && j.components[2].id == 'B'
	return j.adobe == 1 || j.adobe < 0 && (j.jfif || !rgb)
}
