package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Measures of a chart in the units of its view box. The page scales it.
const (
	chartWidth   = 480
	chartHeight  = 330
	marginLeft   = 84
	marginRight  = 12
	marginTop    = 12
	marginBottom = 54
	characters   = 8.5 // width of one, about
)

// axis maps values to a side of a chart.
type axis struct {
	label     string
	low, high float64
	scale     func(float64) float64 // nil for linear
	ticks     []tick
}

type tick struct {
	at    float64
	label string
}

// linear is an axis with four to nine ticks at multiples of 1, 2 or 5 times a
// power of ten.
func linear(label string, low, high float64) axis {
	if !(high > low) {
		low, high = low-0.5, high+0.5
	}
	a := axis{label: label, low: low, high: high}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, by := range []float64{2, 2.5, 2} { // 2, 5, 10 times
		if (high-low)/step > 9 {
			step *= by
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for i := math.Ceil(low/step - 1e-9); i*step <= high+1e-9*step; i++ {
		a.ticks = append(a.ticks, tick{i * step, strconv.FormatFloat(i*step+0, 'f', digits, 64)})
	}
	return a
}

// share says where a value lies between the ends of an axis.
func (a axis) share(v float64) float64 {
	low, high := a.low, a.high
	if a.scale != nil {
		v, low, high = a.scale(v), a.scale(low), a.scale(high)
	}
	return (v - low) / (high - low)
}

// chart is a drawing as SVG, whose colors the page's style sheet gives.
type chart struct {
	name, description string // for those who do not see it
	x, y              axis
	body              strings.Builder
	legend            []entry
}

// entry explains a series.
type entry struct {
	Class string // of the style sheet
	Name  string
}

func newChart(name, description string, x, y axis) *chart {
	return &chart{name: name, description: description, x: x, y: y}
}

func (c *chart) at(x, y float64) (float64, float64) {
	return marginLeft + c.x.share(x)*(chartWidth-marginLeft-marginRight),
		chartHeight - marginBottom - c.y.share(y)*(chartHeight-marginTop-marginBottom)
}

// point is one of a curve; title is shown when the pointer is on it.
type point struct {
	x, y  float64
	title string
}

// line draws a series of points, and each of them if they are few and say
// something.
func (c *chart) line(class, name string, points []point) {
	c.legend = append(c.legend, entry{class, name})
	var path strings.Builder
	open := false
	for _, p := range points {
		if s := p.x + p.y; math.IsNaN(s) || math.IsInf(s, 0) {
			open = false
			continue
		}
		x, y := c.at(p.x, p.y)
		command := "M"
		if open {
			command = "L"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
		open = true
	}
	fmt.Fprintf(&c.body, `<path class="line %s" d="%s"/>`, class, path.String())
	for _, p := range points {
		if s := p.x + p.y; p.title == "" || math.IsNaN(s) || math.IsInf(s, 0) {
			continue
		}
		x, y := c.at(p.x, p.y)
		fmt.Fprintf(&c.body, `<circle class="dot %s" cx="%.1f" cy="%.1f" r="3.5"><title>%s</title></circle>`, class, x, y, html.EscapeString(p.title))
	}
}

// area draws the room between two series over the same places.
func (c *chart) area(class, name string, x, low, high []float64) {
	c.legend = append(c.legend, entry{class + " block", name})
	var path strings.Builder
	for i, v := range x {
		px, py := c.at(v, high[i])
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], px, py)
	}
	for i := len(x) - 1; i >= 0; i-- {
		px, py := c.at(x[i], low[i])
		fmt.Fprintf(&path, "L%.1f %.1f", px, py)
	}
	fmt.Fprintf(&c.body, `<path class="area %s" d="%sZ"/>`, class, path.String())
}

// vertical marks a place on the x axis.
func (c *chart) vertical(class, name string, x float64) {
	c.legend = append(c.legend, entry{class, name})
	px, _ := c.at(x, c.y.low)
	fmt.Fprintf(&c.body, `<line class="mark %s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"><title>%s</title></line>`, class, px, px, marginTop, chartHeight-marginBottom, html.EscapeString(name))
}

// figure is a chart for the template.
type figure struct {
	SVG    template.HTML
	Legend []entry
}

// done returns the drawing. All text in it is escaped here.
func (c *chart) done() figure {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(c.name+": "+c.description))
	b.WriteString(`<g class="axes">`)
	free := 0.0 // where a label may begin
	for _, t := range c.x.ticks {
		x, _ := c.at(t.at, c.y.low)
		half := characters * float64(len(t.label)) / 2
		if x-half < free {
			t.label = ""
		} else {
			free = x + half + characters
		}
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			x, x, marginTop, chartHeight-marginBottom, x, chartHeight-marginBottom+20, html.EscapeString(t.label))
	}
	for _, t := range c.y.ticks {
		_, y := c.at(c.x.low, t.at)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			marginLeft, chartWidth-marginRight, y, y, marginLeft-8, y+5, html.EscapeString(t.label))
	}
	fmt.Fprintf(&b, `<text class="label" x="%d" y="%d" text-anchor="middle">%s</text>`, (chartWidth+marginLeft-marginRight)/2, chartHeight-8, html.EscapeString(c.x.label))
	middle := (chartHeight + marginTop - marginBottom) / 2
	fmt.Fprintf(&b, `<text class="label" x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %d)">%s</text></g>`, middle, middle, html.EscapeString(c.y.label))
	b.WriteString(c.body.String())
	b.WriteString(`</svg>`)
	return figure{template.HTML(b.String()), c.legend}
}
