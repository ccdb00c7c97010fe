package pixels

import (
	"bytes"
	"compress/lzw"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
)

// The first frame of a GIF is read here, as browsers and Pillow show it; image/gif
// refuses surplus pixels, frames beyond the screen and files without their last
// byte, and reads on after the first frame.

// gifFrame is the first frame, its pixels still packed.
type gifFrame struct {
	w, h        int             // of the whole picture
	area        image.Rectangle // where the frame lies in it
	interlaced  bool
	palette     color.Palette
	transparent int // index, -1 if there is none
	codeBits    int
	at          int // place of the packed pixels in the file
}

// readGIF reads the blocks before the first frame's pixels.
func readGIF(b []byte) (*gifFrame, error) {
	const head = 13
	if len(b) < head {
		return nil, io.ErrUnexpectedEOF
	}
	f := &gifFrame{w: int(binary.LittleEndian.Uint16(b[6:])), h: int(binary.LittleEndian.Uint16(b[8:])), transparent: -1}
	at := head
	global, err := gifPalette(b, &at, b[10])
	if err != nil {
		return nil, err
	}
	for {
		if at >= len(b) {
			return nil, io.ErrUnexpectedEOF
		}
		kind := b[at]
		at++
		switch kind {
		case 0: // what some programs leave between blocks
		case '!':
			if err := f.extension(b, &at); err != nil {
				return nil, err
			}
		case ',':
			return f, f.descriptor(b, at, global)
		case ';':
			return nil, ErrNoPixels
		default:
			return nil, fmt.Errorf("an unknown block 0x%02x", kind)
		}
	}
}

// gifPalette reads a color table if flags say that there is one.
func gifPalette(b []byte, at *int, flags byte) (color.Palette, error) {
	if flags&0x80 == 0 {
		return nil, nil
	}
	n := 2 << (flags & 7)
	if len(b) < *at+3*n {
		return nil, io.ErrUnexpectedEOF
	}
	p := make(color.Palette, n)
	for i := range p {
		c := b[*at+3*i:]
		p[i] = color.RGBA{c[0], c[1], c[2], 255}
	}
	*at += 3 * n
	return p, nil
}

// extension skips an extension, and notes the transparent index of a frame.
func (f *gifFrame) extension(b []byte, at *int) error {
	const control = 0xf9
	if *at >= len(b) {
		return io.ErrUnexpectedEOF
	}
	label := b[*at]
	*at++
	for first := true; ; first = false {
		if *at >= len(b) || *at+1+int(b[*at]) > len(b) {
			return io.ErrUnexpectedEOF
		}
		body := b[*at+1 : *at+1+int(b[*at])]
		*at += 1 + len(body)
		if len(body) == 0 {
			return nil
		}
		if label == control && first && len(body) >= 4 && body[0]&1 != 0 {
			f.transparent = int(body[3])
		}
	}
}

// descriptor reads where the frame lies. A frame larger than the screen is the
// picture; so is one on a screen without size.
func (f *gifFrame) descriptor(b []byte, at int, global color.Palette) error {
	const size = 9
	if len(b) < at+size {
		return io.ErrUnexpectedEOF
	}
	var n [4]int
	for i := range n {
		n[i] = int(binary.LittleEndian.Uint16(b[at+2*i:]))
	}
	if n[2] == 0 || n[3] == 0 {
		n[2], n[3] = f.w, f.h
	}
	if n[2] > f.w || n[3] > f.h {
		f.w, f.h, n[0], n[1] = n[2], n[3], 0, 0
	}
	f.area = image.Rect(n[0], n[1], n[0]+n[2], n[1]+n[3])
	flags := b[at+size-1]
	f.interlaced = flags&0x40 != 0
	at += size
	local, err := gifPalette(b, &at, flags)
	if err != nil {
		return err
	}
	f.setPalette(global, local)
	if at >= len(b) {
		return io.ErrUnexpectedEOF
	}
	if f.codeBits = int(b[at]); f.codeBits < 2 || f.codeBits > 8 {
		return fmt.Errorf("codes of %d bits, from 2 to 8 are possible", f.codeBits)
	}
	f.at = at + 1
	return nil
}

// setPalette fills 256 colors. Without a table an index is its own shade of gray,
// as in Pillow; what a short table leaves out is black.
func (f *gifFrame) setPalette(global, local color.Palette) {
	given := local
	if given == nil {
		given = global
	}
	f.palette = make(color.Palette, 256)
	for i := range f.palette {
		switch {
		case i == f.transparent:
			f.palette[i] = color.RGBA{}
		case i < len(given):
			f.palette[i] = given[i]
		case given == nil:
			f.palette[i] = color.RGBA{uint8(i), uint8(i), uint8(i), 255}
		default:
			f.palette[i] = color.RGBA{0, 0, 0, 255}
		}
	}
}

func gifHeader(file []byte) (header, error) {
	f, err := readGIF(file)
	if err != nil {
		return header{}, err
	}
	return header{f.w, f.h, int64(f.w) * int64(f.h)}, nil
}

// decodeGIF unpacks the first frame. Pixels that a whole file does not have stay
// transparent; those of a file that was cut are missed.
func decodeGIF(ctx context.Context, file []byte) (image.Image, error) {
	f, err := readGIF(file)
	if err != nil {
		return nil, err
	}
	m := image.NewPaletted(f.area, f.palette)
	packed, cut := gifBlocks(file[f.at:])
	r := lzw.NewReader(&watched{ctx: ctx, file: packed}, lzw.LSB, f.codeBits)
	defer r.Close()
	n, err := io.ReadFull(r, m.Pix)
	if n < len(m.Pix) {
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if !ended || cut {
			return nil, err
		}
		f.leaveOut(m, n)
	}
	if f.interlaced {
		return f.weave(m), nil
	}
	return m, nil
}

// leaveOut makes the pixels from number n on transparent.
func (f *gifFrame) leaveOut(m *image.Paletted, n int) {
	index := max(f.transparent, 0)
	if f.transparent < 0 {
		f.palette[255] = color.RGBA{}
		index = 255
	}
	for i := n; i < len(m.Pix); i++ {
		m.Pix[i] = uint8(index)
	}
}

// gifBlocks joins the blocks of packed pixels; cut says that their end is missing.
func gifBlocks(b []byte) (packed []byte, cut bool) {
	var joined bytes.Buffer
	for len(b) > 0 && b[0] != 0 {
		n := min(1+int(b[0]), len(b))
		joined.Write(b[1:n])
		if n < 1+int(b[0]) {
			return joined.Bytes(), true
		}
		b = b[n:]
	}
	return joined.Bytes(), len(b) == 0
}

// weave puts the rows of an interlaced frame into their places.
func (f *gifFrame) weave(m *image.Paletted) *image.Paletted {
	out := image.NewPaletted(m.Rect, m.Palette)
	from := 0
	for _, pass := range [...]struct{ start, step int }{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
		for y := pass.start; y < m.Rect.Dy(); y += pass.step {
			copy(out.Pix[y*out.Stride:][:out.Stride], m.Pix[from*m.Stride:])
			from++
		}
	}
	return out
}
