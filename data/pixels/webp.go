package pixels

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"io"

	"golang.org/x/image/webp"
)

// x/image/webp reads still images. Of an animation a still one of its first frame
// is made; libwebp's leniency is that of the others.

// webpParts are the chunks that make one picture.
type webpParts struct {
	w, h   int    // as the chunk before them says, 0 if there is none
	alpha  []byte // of ALPH
	name   string // of the pixels' chunk, VP8 or VP8L
	pixels []byte
}

// isWebP knows the head of the file.
func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

const chunkHead = 8

// nextChunk cuts a chunk off. A last one without its padding is whole.
func nextChunk(b []byte) (name string, body, rest []byte, err error) {
	if len(b) < chunkHead {
		return "", nil, nil, io.ErrUnexpectedEOF
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	if size > int64(len(b)-chunkHead) {
		return "", nil, nil, io.ErrUnexpectedEOF
	}
	end := chunkHead + int(size)
	return string(b[:4]), b[chunkHead:end], b[min(end+int(size&1), len(b)):], nil
}

// take keeps the chunks that make a picture, up to its pixels.
func (p *webpParts) take(b []byte) error {
	for {
		name, body, rest, err := nextChunk(b)
		if err != nil {
			return err
		}
		switch name {
		case "ALPH":
			p.alpha = body
		case "VP8 ", "VP8L":
			p.name, p.pixels = name, body
			return nil
		}
		b = rest
	}
}

// file is a file of the picture alone. What has a size of its own must agree with w x h.
func (p *webpParts) file() []byte {
	const flagAlpha = 0x10
	var b bytes.Buffer
	b.WriteString("RIFF\x00\x00\x00\x00WEBP")
	add := func(name string, body []byte) {
		b.WriteString(name)
		binary.Write(&b, binary.LittleEndian, uint32(len(body)))
		b.Write(body)
		b.Write(make([]byte, len(body)&1))
	}
	if p.w > 0 {
		extended := make([]byte, 10)
		if p.alpha != nil && p.name == "VP8 " {
			extended[0] = flagAlpha
		}
		put24(extended[4:], p.w-1)
		put24(extended[7:], p.h-1)
		add("VP8X", extended)
	}
	if p.alpha != nil && p.name == "VP8 " && p.w > 0 {
		add("ALPH", p.alpha)
	}
	add(p.name, p.pixels)
	binary.LittleEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-chunkHead))
	return b.Bytes()
}

func get24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

func put24(b []byte, v int) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }

// webpHeader reads the size of the picture, of an animation that of its canvas.
func webpHeader(file []byte) (header, error) {
	const extended = 12 + chunkHead + 10
	var h header
	var err error
	if len(file) >= extended && string(file[12:16]) == "VP8X" {
		h.w, h.h = 1+get24(file[extended-6:]), 1+get24(file[extended-3:])
	} else {
		h, err = headerBy(webp.DecodeConfig)(file)
	}
	h.memory = 2 * 4 * int64(h.w) * int64(h.h) // colors and alpha, then a canvas
	return h, err
}

func decodeWebP(ctx context.Context, file []byte) (image.Image, error) {
	const flagAnimation = 0x02
	p := &webpParts{}
	b := file[12:]
	name, body, rest, err := nextChunk(b)
	if err != nil {
		return nil, err
	}
	if name == "VP8X" {
		if len(body) < 10 {
			return nil, errors.New("webp: a head that is too short")
		}
		p.w, p.h = 1+get24(body[4:]), 1+get24(body[7:])
		if b = rest; body[0]&flagAnimation != 0 {
			return decodeAnimation(ctx, b, image.Rect(0, 0, p.w, p.h))
		}
	}
	if err := p.take(b); err != nil {
		return nil, err
	}
	return webp.Decode(&watched{ctx: ctx, file: p.file()})
}

// decodeAnimation decodes the first frame. What it leaves of the canvas is transparent.
func decodeAnimation(ctx context.Context, b []byte, canvas image.Rectangle) (image.Image, error) {
	const frameHead = 16
	var frame []byte
	for frame == nil {
		name, body, rest, err := nextChunk(b)
		if err != nil {
			return nil, err
		}
		if b = rest; name == "ANMF" {
			frame = body
		}
	}
	if len(frame) < frameHead {
		return nil, errors.New("webp: a frame that is too short")
	}
	p := &webpParts{w: 1 + get24(frame[6:]), h: 1 + get24(frame[9:])}
	at := image.Pt(2*get24(frame), 2*get24(frame[3:]))
	area := image.Rect(0, 0, p.w, p.h).Add(at)
	if !area.In(canvas) {
		return nil, errors.New("webp: a frame outside of the canvas")
	}
	if err := p.take(frame[frameHead:]); err != nil {
		return nil, err
	}
	m, err := webp.Decode(&watched{ctx: ctx, file: p.file()})
	if err != nil || area == canvas {
		return m, err
	}
	return placeWebP(m, canvas, at), nil
}

// placeWebP puts a frame on a transparent canvas.
func placeWebP(frame image.Image, canvas image.Rectangle, at image.Point) *image.NRGBA {
	const opaque = 255
	out := image.NewNRGBA(canvas)
	colors := toRGB(frame, frame.Bounds(), AlphaDrop, true)
	for y := range colors.H {
		row, to := colors.Row(y), out.Pix[out.PixOffset(at.X, at.Y+y):]
		for x := range colors.W {
			copy(to[4*x:], row[3*x:3*x+3])
			switch m := frame.(type) {
			case *image.NRGBA:
				to[4*x+3] = m.Pix[y*m.Stride+4*x+3]
			case *image.NYCbCrA:
				to[4*x+3] = m.A[y*m.AStride+x]
			default:
				to[4*x+3] = opaque
			}
		}
	}
	return out
}
