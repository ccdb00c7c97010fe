package outline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/colornames"

	"github.com/vernier-ml/vernier/data/pixels"
)

// RenderSVG draws the plain part of SVG 1.1 that icons are made of, side x side
// pixels over white: shapes and paths in groups with transforms, filled and
// stroked in plain colors. A picture that needs more (gradients, text, clipping,
// style sheets) is an error, since it would come out wrong. The opacity of a
// group is applied to its shapes one by one.
//
// No library takes its place: of the pictures in the tests oksvg draws a half with other
// areas and tdewolff/canvas a quarter, and both take most of those that they cannot
// draw without an error.
func RenderSVG(file []byte, side int) (*pixels.RGB, error) {
	d := &svgDrawing{canvas: pixels.NewRGB(side, side), raster: NewRasterizer(side), cover: make([]uint8, side*side)}
	for i := range d.canvas.Pix {
		d.canvas.Pix[i] = 255
	}
	in := xml.NewDecoder(bytes.NewReader(file))
	stack := []svgStyle{{fill: paint{on: true}, fillOpacity: 1, strokeOpacity: 1, opacity: 1, width: 1, miter: 4, at: unitMatrix()}}
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("damaged SVG: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			style, shown, err := stack[len(stack)-1].element(t, side)
			if err == nil && shown {
				err = d.shape(t, style)
			}
			if err != nil {
				return nil, fmt.Errorf("SVG <%s>: %w", t.Name.Local, err)
			}
			if !shown {
				if err := in.Skip(); err != nil {
					return nil, fmt.Errorf("damaged SVG: %w", err)
				}
				continue
			}
			d.any = true
			stack = append(stack, style)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
	if !d.any {
		return nil, pixels.ErrNotImage
	}
	return d.canvas, nil
}

// svgDrawing is the picture so far.
type svgDrawing struct {
	canvas *pixels.RGB
	raster *Rasterizer
	cover  []uint8
	any    bool
}

// paint is a plain color or none.
type paint struct {
	on    bool
	color [3]uint8
}

// svgStyle is what a shape inherits from the groups it is in.
type svgStyle struct {
	fill, stroke                        paint
	fillOpacity, strokeOpacity, opacity float64
	width, miter                        float64
	cap, join                           string
	evenOdd                             bool
	strokeFirst                         bool
	dashes                              []float64
	at                                  matrix
}

var errUnsupported = errors.New("not supported")

// element returns the style inside an element, and whether it is shown at all.
func (s svgStyle) element(e xml.StartElement, side int) (svgStyle, bool, error) {
	switch e.Name.Local {
	case "svg":
		at, err := viewBox(attr(e, "viewBox"), side)
		if err != nil {
			return s, true, err
		}
		s.at = s.at.then(at)
	case "g", "path", "circle", "ellipse", "line", "polyline", "polygon", "rect":
	case "title", "desc", "metadata", "namedview":
		return s, false, nil
	default:
		return s, true, errUnsupported
	}
	for _, a := range e.Attr {
		if a.Name.Local == "display" && a.Value == "none" {
			return s, false, nil
		}
		if err := s.set(a.Name.Local, strings.TrimSpace(a.Value)); err != nil {
			return s, true, fmt.Errorf("%s=%q: %w", a.Name.Local, a.Value, err)
		}
	}
	return s, true, nil
}

// set takes one attribute over. Those that say nothing of looks are ignored.
func (s *svgStyle) set(name, value string) (err error) {
	switch name {
	case "fill":
		s.fill, err = parsePaint(value)
	case "stroke":
		s.stroke, err = parsePaint(value)
	case "fill-opacity":
		s.fillOpacity, err = strconv.ParseFloat(value, 64)
	case "stroke-opacity":
		s.strokeOpacity, err = strconv.ParseFloat(value, 64)
	case "opacity":
		var o float64
		o, err = strconv.ParseFloat(value, 64)
		s.opacity *= o
	case "stroke-width":
		s.width, err = length(value)
	case "stroke-miterlimit":
		s.miter, err = strconv.ParseFloat(value, 64)
	case "stroke-linecap":
		s.cap = value
	case "stroke-linejoin":
		s.join = value
	case "fill-rule":
		s.evenOdd = value == "evenodd"
	case "paint-order":
		s.strokeFirst = strings.HasPrefix(value, "stroke")
	case "stroke-dasharray":
		s.dashes, err = parseDashes(value)
	case "transform":
		var m matrix
		m, err = parseTransform(value)
		s.at = s.at.then(m)
	case "style", "clip-path", "mask", "filter", "marker-start", "marker-mid", "marker-end":
		if value != "none" && value != "" {
			err = errUnsupported
		}
	}
	return err
}

// shape draws an element.
func (d *svgDrawing) shape(e xml.StartElement, s svgStyle) error {
	lines, err := shapeOutlines(e)
	if err != nil || len(lines) == 0 {
		return err
	}
	fill := func() {
		if s.fill.on {
			d.paint(lines, s.at, s.evenOdd, s.fill.color, s.fillOpacity*s.opacity)
		}
	}
	if !s.strokeFirst {
		fill()
	}
	if s.stroke.on && s.width > 0 {
		d.paint(s.strokeOutlines(lines), s.at, false, s.stroke.color, s.strokeOpacity*s.opacity)
	}
	if s.strokeFirst {
		fill()
	}
	return nil
}

// paint fills outlines with a color.
func (d *svgDrawing) paint(lines []outline, at matrix, evenOdd bool, color [3]uint8, opacity float64) {
	const far = 1 << 14 // pixels; further out nothing can be seen
	place := func(v vec) point {
		v = at.apply(v)
		return point{int64(min(max(v.x, -far), far) * OnePixel), int64(min(max(v.y, -far), far) * OnePixel)}
	}
	d.raster.reset()
	for _, l := range lines {
		from := place(l.points[len(l.points)-1])
		for _, v := range l.points {
			to := place(v)
			d.raster.edge(from, to)
			from = to
		}
	}
	d.raster.evenOdd = evenOdd
	d.raster.fill(d.cover)
	const full = 255 * 256
	weight := int(min(max(opacity, 0), 1)*256 + .5)
	for i, c := range d.cover {
		if c == 0 {
			continue
		}
		w := int(c) * weight
		p := d.canvas.Pix[3*i : 3*i+3]
		for k, v := range color {
			p[k] = uint8((int(p[k])*(full-w) + int(v)*w + full/2) / full)
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// length reads a number of user units.
func length(text string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 64)
}

func parsePaint(text string) (paint, error) {
	switch {
	case text == "none" || text == "transparent":
		return paint{}, nil
	case strings.HasPrefix(text, "#") && (len(text) == 4 || len(text) == 7):
		v, err := strconv.ParseUint(text[1:], 16, 32)
		if err != nil {
			return paint{}, err
		}
		if len(text) == 4 {
			return paint{true, [3]uint8{uint8(v>>8) * 17, uint8(v>>4&15) * 17, uint8(v&15) * 17}}, nil
		}
		return paint{true, [3]uint8{uint8(v >> 16), uint8(v >> 8), uint8(v)}}, nil
	}
	c, ok := colornames.Map[strings.ToLower(text)]
	if !ok {
		return paint{}, errUnsupported
	}
	return paint{true, [3]uint8{c.R, c.G, c.B}}, nil
}

func parseDashes(text string) ([]float64, error) {
	if text == "none" {
		return nil, nil
	}
	in, sum := numberScanner{text: text}, 0.
	var dashes []float64
	for in.space(); in.text != "" && in.err == nil; in.space() {
		v := in.number()
		if v < 0 {
			return nil, errors.New("negative length")
		}
		dashes = append(dashes, v)
		sum += v
	}
	if sum == 0 {
		dashes = nil
	}
	if len(dashes)%2 == 1 {
		dashes = slices.Concat(dashes, dashes)
	}
	return dashes, in.err
}
