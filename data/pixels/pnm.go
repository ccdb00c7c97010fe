package pixels

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
	"strings"
)

// The formats of Netpbm: PBM, PGM and PPM, as text and as bytes, and PAM.

// isPNM knows the head of the file, also of PFM, which is not read.
func isPNM(head []byte) bool {
	return len(head) >= 3 && head[0] == 'P' && (head[1] >= '1' && head[1] <= '7' || head[1] == 'f' || head[1] == 'F') && (isBlank(head[2]) || head[2] == '#')
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// pnmImage is what the head says. Its pixels are rest.
type pnmImage struct {
	w, h     int
	channels int
	max      int  // of a sample
	text     bool // samples are numbers in words
	bits     bool // samples are bits, 1 is black
	alpha    bool // the last channel is alpha
	rest     []byte
}

// skip goes over blanks and comments.
func (m *pnmImage) skip() {
	for len(m.rest) > 0 && (isBlank(m.rest[0]) || m.rest[0] == '#') {
		end := 1
		if m.rest[0] == '#' {
			if end = bytes.IndexAny(m.rest, "\r\n"); end < 0 {
				end = len(m.rest)
			}
		}
		m.rest = m.rest[end:]
	}
}

// word cuts the next word off.
func (m *pnmImage) word() (string, error) {
	m.skip()
	end := 0
	for end < len(m.rest) && !isBlank(m.rest[end]) && m.rest[end] != '#' {
		end++
	}
	if end == 0 {
		return "", io.ErrUnexpectedEOF
	}
	word := m.rest[:end]
	m.rest = m.rest[end:]
	const longest = 64
	return string(word[:min(len(word), longest)]), nil
}

// number reads a word that is a number of at most limit.
func (m *pnmImage) number(limit int) (int, error) {
	word, err := m.word()
	if err != nil {
		return 0, err
	}
	return pnmNumber(word, limit)
}

func pnmNumber(word string, limit int) (int, error) {
	n := 0
	for i := range len(word) {
		digit := int(word[i]) - '0'
		if digit < 0 || digit > 9 || n > limit {
			return 0, fmt.Errorf("%q is no number of at most %d", word, limit)
		}
		n = 10*n + digit
	}
	if word == "" || n > limit {
		return 0, fmt.Errorf("%q is no number of at most %d", word, limit)
	}
	return n, nil
}

const (
	pnmMaxSide   = 1 << 30
	pnmMaxSample = 1<<16 - 1
)

// readPNM reads the head.
func readPNM(b []byte) (*pnmImage, error) {
	if len(b) < 3 {
		return nil, io.ErrUnexpectedEOF
	}
	m := &pnmImage{channels: 1, max: 1, rest: b[2:]}
	kind := b[1]
	if kind == 'f' || kind == 'F' {
		return nil, kindError("samples are floating-point numbers (PFM)")
	}
	if kind == '7' {
		return m, m.readPAM()
	}
	m.text, m.bits = kind <= '3', kind == '1' || kind == '4'
	if kind == '3' || kind == '6' {
		m.channels = 3
	}
	to, limits := []*int{&m.w, &m.h, &m.max}, []int{pnmMaxSide, pnmMaxSide, pnmMaxSample}
	if m.bits {
		to = to[:2]
	}
	for i, p := range to {
		var err error
		if *p, err = m.number(limits[i]); err != nil {
			return nil, err
		}
	}
	return m, m.begin()
}

// readPAM reads the lines of a head of names and values.
func (m *pnmImage) readPAM() error {
	for {
		name, err := m.word()
		if err != nil {
			return err
		}
		to, limit := (*int)(nil), pnmMaxSide
		switch name {
		case "ENDHDR":
			if m.channels < 1 || m.channels > 4 {
				return kindError(fmt.Sprintf("%d channels", m.channels))
			}
			m.alpha = m.alpha || m.channels == 2 || m.channels == 4
			return m.begin()
		case "WIDTH":
			to = &m.w
		case "HEIGHT":
			to = &m.h
		case "DEPTH":
			to = &m.channels
		case "MAXVAL":
			to, limit = &m.max, pnmMaxSample
		case "TUPLTYPE":
			kind, err := m.word()
			if err != nil {
				return err
			}
			m.alpha = strings.HasSuffix(kind, "_ALPHA")
			continue
		default:
			return fmt.Errorf("%q in its head", name)
		}
		if *to, err = m.number(limit); err != nil {
			return err
		}
	}
}

// begin goes to the pixels, over the one blank before them.
func (m *pnmImage) begin() error {
	if m.max < 1 {
		return fmt.Errorf("the largest sample is %d", m.max)
	}
	if len(m.rest) == 0 {
		return io.ErrUnexpectedEOF
	}
	if !m.text {
		m.rest = m.rest[1:]
	}
	return nil
}

func pnmHeader(file []byte) (header, error) {
	m, err := readPNM(file)
	if err != nil {
		return header{}, err
	}
	return header{m.w, m.h, 4 * int64(min(m.w, 1<<24)) * int64(min(m.h, 1<<24))}, nil
}

func decodePNM(ctx context.Context, file []byte) (image.Image, error) {
	m, err := readPNM(file)
	if err != nil {
		return nil, err
	}
	row := make([]uint8, m.w*m.channels)
	out := image.NewNRGBA(image.Rect(0, 0, m.w, m.h))
	for y := range m.h {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := m.row(row); err != nil {
			return nil, err
		}
		m.pixels(out.Pix[y*out.Stride:][:4*m.w], row)
	}
	return out, nil
}

// row reads the samples of a row.
func (m *pnmImage) row(to []uint8) error {
	switch {
	case m.text && m.bits:
		return m.digits(to)
	case m.text:
		for i := range to {
			v, err := m.number(pnmMaxSample)
			if err != nil {
				return err
			}
			if to[i], err = m.scale(v); err != nil {
				return err
			}
		}
		return nil
	}
	size := len(to)
	if m.bits {
		size = (size + 7) / 8
	} else if m.max > 255 {
		size *= 2
	}
	if len(m.rest) < size {
		return io.ErrUnexpectedEOF
	}
	for i := range to {
		var err error
		switch {
		case m.bits:
			to[i] = 255 * (1 - m.rest[i/8]>>(7-i%8)&1)
		case m.max > 255:
			to[i], err = m.scale(int(m.rest[2*i])<<8 | int(m.rest[2*i+1]))
		default:
			to[i], err = m.scale(int(m.rest[i]))
		}
		if err != nil {
			return err
		}
	}
	m.rest = m.rest[size:]
	return nil
}

// digits reads bits, which need no blank between them.
func (m *pnmImage) digits(to []uint8) error {
	for i := range to {
		m.skip()
		if len(m.rest) == 0 {
			return io.ErrUnexpectedEOF
		}
		bit := m.rest[0]
		if bit != '0' && bit != '1' {
			return fmt.Errorf("%q is no bit", bit)
		}
		to[i], m.rest = 255*('1'-bit), m.rest[1:]
	}
	return nil
}

// scale brings a sample to 0..255: of 16 bits the high byte counts. A sample above the
// declared maximum is refused, as netpbm does, as text and as bytes.
func (m *pnmImage) scale(v int) (uint8, error) {
	switch {
	case v > m.max:
		return 0, fmt.Errorf("a sample is %d, and its head says that the largest is %d", v, m.max)
	case m.max <= 255:
		return uint8((v*255 + m.max/2) / m.max), nil
	}
	return uint8((v*pnmMaxSample + m.max/2) / m.max >> 8), nil
}

// pixels makes R, G, B, A of samples.
func (m *pnmImage) pixels(to, row []uint8) {
	for x := range len(to) / 4 {
		p, q := row[x*m.channels:(x+1)*m.channels], to[4*x:4*x+4]
		colors := p
		q[3] = 255
		if m.alpha && len(p) > 1 {
			colors, q[3] = p[:len(p)-1], p[len(p)-1]
		}
		if len(colors) < 3 {
			q[0], q[1], q[2] = colors[0], colors[0], colors[0]
		} else {
			copy(q[:3], colors)
		}
	}
}
