package pixels

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
)

// A progressive JPEG goes over its image again with every scan, and a scan of
// many pixels may have a few bytes. So the scans are counted before image/jpeg
// decodes them.

// jpegOutline is what the markers of a JPEG say, without its codes.
type jpegOutline struct {
	w, h      int
	samples   int64 // of all components, with their padding
	scans     []int // where they begin
	visits    int64 // samples that all scans go over
	component map[uint8]int64
}

// outlineJPEG walks from marker to marker up to the end of the image.
func outlineJPEG(file []byte) *jpegOutline {
	o := &jpegOutline{component: map[uint8]int64{}}
	for at := 2; ; {
		next := bytes.IndexByte(file[min(at, len(file)):], 0xff)
		if next < 0 || at+next+1 >= len(file) {
			return o
		}
		at += next
		marker := file[at+1]
		switch {
		case marker == 0xff: // a fill byte
			at++
			continue
		case marker == 0xd9:
			return o
		case marker == 0 || marker == 1 || marker >= 0xd0 && marker <= 0xd8: // no length follows
			at += 2
			continue
		}
		if at+4 > len(file) {
			return o
		}
		end := at + 2 + int(binary.BigEndian.Uint16(file[at+2:]))
		if end < at+4 || end > len(file) {
			return o
		}
		body := file[at+4 : end]
		switch {
		case marker == 0xda:
			o.scan(at, body)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc && o.samples == 0:
			o.frame(body)
		}
		at = end
	}
}

// frame reads the size of each component.
func (o *jpegOutline) frame(b []byte) {
	const head, each, block = 6, 3, 8
	if len(b) < head || len(b) < head+each*int(b[5]) {
		return
	}
	o.h, o.w = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	parts := b[head : head+each*int(b[5])]
	across, down := 1, 1
	for i := 0; i < len(parts); i += each {
		across, down = max(across, int(parts[i+1]>>4)), max(down, int(parts[i+1]&15))
	}
	mcus := int64((o.w+across*block-1)/(across*block)) * int64((o.h+down*block-1)/(down*block))
	for i := 0; i < len(parts); i += each {
		size := mcus * int64(parts[i+1]>>4) * int64(parts[i+1]&15) * block * block
		if len(parts) == each {
			size = int64((o.w+block-1)/block) * int64((o.h+block-1)/block) * block * block
		}
		o.component[parts[i]] = size
		o.samples += size
	}
}

// scan counts a scan that begins at a place of the file.
func (o *jpegOutline) scan(at int, b []byte) {
	o.scans = append(o.scans, at)
	if len(b) == 0 {
		return
	}
	for i := 1; i < len(b) && i <= 2*int(b[0]); i += 2 {
		o.visits += o.component[b[i]]
	}
}

// checkWork refuses scans that are too many for the pixels.
func (o *jpegOutline) checkWork() error {
	return checkWork(o.visits, o.samples, fmt.Sprintf("%d scans of %d x %d pixels", len(o.scans), o.w, o.h))
}

// jpegHeader reads the frame. A progressive image is held as coefficients of four
// bytes until its last scan.
func jpegHeader(file []byte) (header, error) {
	c, err := jpeg.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return header{}, err
	}
	const coefficient = 4
	h := header{w: c.Width, h: c.Height}
	pixels := int64(c.Width) * int64(c.Height)
	bytes := modelBytes(c.ColorModel)
	if c.ColorModel == color.CMYKModel {
		bytes *= 2 // planes, and what is made of them
	}
	if progressiveJPEG(file) {
		bytes *= 1 + coefficient
	}
	h.memory = pixels * bytes
	return h, nil
}

// progressiveJPEG looks at the marker of the frame.
func progressiveJPEG(file []byte) bool {
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		marker := file[at+1]
		if marker == 0xff {
			at++
			continue
		}
		if marker >= 0xc0 && marker <= 0xc2 {
			return marker == 0xc2
		}
		at += 2 + int(binary.BigEndian.Uint16(file[at+2:]))
	}
	return true // not as a JPEG should be: the more costly kind
}

// decodeJPEG decodes with image/jpeg, which asks for each scan when the one
// before is done.
func decodeJPEG(ctx context.Context, file []byte) (image.Image, error) {
	o := outlineJPEG(file)
	if err := o.checkWork(); err != nil {
		return nil, err
	}
	return jpeg.Decode(&watched{ctx: ctx, file: file, pauses: o.scans})
}
