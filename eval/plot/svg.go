package plot

import (
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// svgCanvas is a vg.Canvas that writes SVG for a page. That of gonum/plot does not do:
// it writes each color as it is and no titles, so that a page could neither be dark nor
// say what a point is. Elements of the same paint stand in a group, which keeps maps of
// many points small.
type svgCanvas struct {
	width, height vg.Length
	body          strings.Builder
	group         string          // attributes of the open group
	title         string          // of the next element
	align         text.XAlignment // of the next text
	state         svgState
	stack         []svgState
}

// svgState is what Push saves.
type svgState struct {
	to     [6]float64 // x, y becomes to[0]x + to[1]y + to[2], to[3]x + to[4]y + to[5]
	color  color.NRGBA
	width  vg.Length
	dashes []vg.Length
	offset vg.Length
}

func newSVGCanvas(width, height vg.Length) *svgCanvas {
	c := &svgCanvas{width: width, height: height}
	c.state.to = [6]float64{1, 0, 0, 0, -1, height.Points()} // Y grows downward
	vg.Initialize(c)
	return c
}

// setTitle gives the next element a title, if c draws for a page.
func setTitle(c draw.Canvas, title string) {
	if page := pageOf(c); page != nil {
		page.title = title
	}
}

// pageOf is the canvas that c is a part of, or nil if that is not for a page.
func pageOf(c vg.Canvas) *svgCanvas {
	for {
		switch on := c.(type) {
		case *svgCanvas:
			return on
		case *draw.Canvas:
			c = on.Canvas
		case draw.Canvas:
			c = on.Canvas
		default:
			return nil
		}
	}
}

// element is the whole drawing.
func (c *svgCanvas) element(label string) string {
	c.paint("")
	return fmt.Sprintf(`<svg class="chart" viewBox="0 0 %s %s" font-family="Liberation Sans,Arial,Helvetica,sans-serif" role="img" aria-label="%s">%s</svg>`,
		decimal(c.width.Points()), decimal(c.height.Points()), html.EscapeString(label), c.body.String())
}

// paint opens a group with attributes, unless it is open.
func (c *svgCanvas) paint(attributes string) {
	if attributes == c.group {
		return
	}
	if c.group != "" {
		c.body.WriteString("</g>")
	}
	if c.group = attributes; attributes != "" {
		fmt.Fprintf(&c.body, "<g %s>", attributes)
	}
}

// shape writes an element and its title.
func (c *svgCanvas) shape(paint, name, attributes string) {
	c.paint(paint)
	fmt.Fprintf(&c.body, "<%s %s", name, attributes)
	if c.title == "" {
		c.body.WriteString("/>")
		return
	}
	fmt.Fprintf(&c.body, "><title>%s</title></%s>", html.EscapeString(c.title), name)
	c.title = ""
}

// Size implements vg.CanvasSizer.
func (c *svgCanvas) Size() (x, y vg.Length) { return c.width, c.height }

// SetLineWidth implements vg.Canvas.
func (c *svgCanvas) SetLineWidth(w vg.Length) { c.state.width = w }

// SetLineDash implements vg.Canvas.
func (c *svgCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.state.dashes, c.state.offset = pattern, offset
}

// SetColor implements vg.Canvas.
func (c *svgCanvas) SetColor(to color.Color) {
	if to == nil {
		to = color.Black
	}
	c.state.color = color.NRGBAModel.Convert(to).(color.NRGBA)
}

// Push implements vg.Canvas.
func (c *svgCanvas) Push() { c.stack = append(c.stack, c.state) }

// Pop implements vg.Canvas.
func (c *svgCanvas) Pop() {
	last := len(c.stack) - 1
	c.state, c.stack = c.stack[last], c.stack[:last]
}

// Translate implements vg.Canvas.
func (c *svgCanvas) Translate(by vg.Point) {
	c.state.to[2], c.state.to[5] = c.at(by)
}

// Rotate implements vg.Canvas.
func (c *svgCanvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	t := &c.state.to
	t[0], t[1] = t[0]*cos+t[1]*sin, t[1]*cos-t[0]*sin
	t[3], t[4] = t[3]*cos+t[4]*sin, t[4]*cos-t[3]*sin
}

// Scale implements vg.Canvas.
func (c *svgCanvas) Scale(x, y float64) {
	t := &c.state.to
	t[0], t[1], t[3], t[4] = t[0]*x, t[1]*y, t[3]*x, t[4]*y
}

// at is a place in the view box.
func (c *svgCanvas) at(p vg.Point) (x, y float64) {
	t := &c.state.to
	return t[0]*p.X.Points() + t[1]*p.Y.Points() + t[2], t[3]*p.X.Points() + t[4]*p.Y.Points() + t[5]
}

// scaled is a length in the view box.
func (c *svgCanvas) scaled(l vg.Length) float64 {
	t := &c.state.to
	return l.Points() * math.Sqrt(math.Abs(t[0]*t[4]-t[1]*t[3]))
}

// Stroke implements vg.Canvas.
func (c *svgCanvas) Stroke(p vg.Path) {
	if c.state.width <= 0 {
		return
	}
	paint := `fill="none"` + c.colored("stroke") + fmt.Sprintf(` stroke-width="%s"`, decimal(c.scaled(c.state.width)))
	if len(c.state.dashes) > 0 {
		var list []string
		for _, d := range c.state.dashes {
			list = append(list, decimal(c.scaled(d)))
		}
		paint += fmt.Sprintf(` stroke-dasharray="%s"`, strings.Join(list, " "))
	}
	if c.state.offset != 0 {
		paint += fmt.Sprintf(` stroke-dashoffset="%s"`, decimal(c.scaled(c.state.offset)))
	}
	c.path(paint, p)
}

// Fill implements vg.Canvas.
func (c *svgCanvas) Fill(p vg.Path) { c.path(strings.TrimSpace(c.colored("fill")), p) }

// path writes a circle if p is one and a path otherwise.
func (c *svgCanvas) path(paint string, p vg.Path) {
	if len(p) == 3 && p[1].Type == vg.ArcComp && math.Abs(p[1].Angle) >= 2*math.Pi {
		x, y := c.at(p[1].Pos)
		c.shape(paint, "circle", fmt.Sprintf(`cx="%s" cy="%s" r="%s"`, decimal(x), decimal(y), decimal(c.scaled(p[1].Radius))))
		return
	}
	var d strings.Builder
	last := ""
	for _, part := range p {
		switch part.Type {
		case vg.MoveComp:
			last = c.place(part.Pos)
			d.WriteString("M" + last)
		case vg.LineComp:
			if to := c.place(part.Pos); to != last {
				last = to
				d.WriteString("L" + to)
			}
		case vg.CloseComp:
			d.WriteString("Z")
		default: // no figure has one
			panic("plot: a path for a page has arcs or curves")
		}
	}
	c.shape(paint, "path", fmt.Sprintf(`d="%s"`, d.String()))
}

func (c *svgCanvas) place(p vg.Point) string {
	x, y := c.at(p)
	return decimal(x) + " " + decimal(y)
}

// aligned is a text handler that tells the canvas how a text is aligned, since the font
// of a page may be wider than the one that its place was computed with.
type aligned struct{ text.Handler }

// Draw implements text.Handler.
func (a aligned) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	if page := pageOf(c); page != nil {
		page.align = style.XAlign
	}
	a.Handler.Draw(c, s, style, at)
}

// anchors name the alignments of text.
var anchors = map[text.XAlignment]string{text.XLeft: "start", text.XCenter: "middle", text.XRight: "end"}

// FillString implements vg.Canvas.
func (c *svgCanvas) FillString(f font.Face, p vg.Point, s string) {
	if f.Font.Size == 0 || s == "" {
		return
	}
	x, y := c.at(vg.Point{X: p.X - vg.Length(c.align)*f.Width(s), Y: p.Y})
	turned := ""
	if degrees := math.Atan2(c.state.to[3], c.state.to[0]) * 180 / math.Pi; math.Abs(degrees) > 1e-6 {
		turned = fmt.Sprintf(` transform="rotate(%s %s %s)"`, decimal(degrees), decimal(x), decimal(y))
	}
	c.paint(fmt.Sprintf(`text-anchor="%s" font-size="%s"`, anchors[c.align], decimal(c.scaled(f.Font.Size))) + c.colored("fill"))
	fmt.Fprintf(&c.body, `<text x="%s" y="%s"%s>%s</text>`, decimal(x), decimal(y), turned, html.EscapeString(s))
}

// DrawImage implements vg.Canvas.
func (c *svgCanvas) DrawImage(vg.Rectangle, image.Image) { // no figure has one
	panic("plot: a figure for a page has a picture")
}

// pageColors are the variables of a page that colors are taken from.
var pageColors = map[color.NRGBA]string{
	{A: 255}: "ink", gray: "gray", faint: "faint", blue: "blue", orange: "orange", green: "green", purple: "purple",
}

// colored are the attributes that give fill or stroke the current color.
func (c *svgCanvas) colored(what string) string {
	col := c.state.color
	opaque := col
	opaque.A = 255
	value := fmt.Sprintf("#%02x%02x%02x", col.R, col.G, col.B)
	if name, ok := pageColors[opaque]; ok {
		value = fmt.Sprintf("var(--plot-%s,%s)", name, value)
	}
	attributes := fmt.Sprintf(` %s="%s"`, what, value)
	if col.A < 255 {
		attributes += fmt.Sprintf(` %s-opacity="%.2f"`, what, float64(col.A)/255)
	}
	return attributes
}

// decimal writes tenths of the view box's unit, which is a third of a millimeter.
func decimal(v float64) string {
	s := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}
