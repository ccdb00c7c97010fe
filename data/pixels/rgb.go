package pixels

import (
	"image"
	"image/color"
)

// RGB is an 8-bit image of three channels, R, G, B beside each other. The pixel
// (x, y) starts at Pix[y*Stride+3*x]. It may be a view into a larger image.
// It is an image.Image.
type RGB struct {
	W, H   int
	Stride int // bytes from one row to the next
	Pix    []uint8
}

// NewRGB returns a black image, w and h in pixels.
func NewRGB(w, h int) *RGB {
	return &RGB{W: w, H: h, Stride: 3 * w, Pix: make([]uint8, 3*w*h)}
}

// Row returns the 3*W bytes of row y.
func (m *RGB) Row(y int) []uint8 {
	return m.Pix[y*m.Stride : y*m.Stride+3*m.W]
}

// Crop returns a view of the w x h pixels from (x, y), which must lie inside.
func (m *RGB) Crop(x, y, w, h int) *RGB {
	from := y*m.Stride + 3*x
	return &RGB{W: w, H: h, Stride: m.Stride, Pix: m.Pix[from : from+(h-1)*m.Stride+3*w]}
}

// Compact returns m itself if its rows lie without gaps, else a copy that does.
func (m *RGB) Compact() *RGB {
	if m.Stride == 3*m.W && len(m.Pix) == 3*m.W*m.H {
		return m
	}
	return m.Clone()
}

// Clone copies the pixels, without gaps.
func (m *RGB) Clone() *RGB {
	c := NewRGB(m.W, m.H)
	for y := range m.H {
		copy(c.Row(y), m.Row(y))
	}
	return c
}

// ColorModel is that of the pixels At returns.
func (m *RGB) ColorModel() color.Model { return color.RGBAModel }

// Bounds starts at (0, 0).
func (m *RGB) Bounds() image.Rectangle { return image.Rect(0, 0, m.W, m.H) }

// At returns an opaque pixel, transparent black outside the image.
func (m *RGB) At(x, y int) color.Color {
	if x < 0 || y < 0 || x >= m.W || y >= m.H {
		return color.RGBA{}
	}
	p := m.Pix[y*m.Stride+3*x:]
	return color.RGBA{p[0], p[1], p[2], 255}
}

// SetGray sets all three channels to the samples of a gray image of the same size.
func (m *RGB) SetGray(samples []uint8) { replicate(m.Pix, samples, 1) }
