package plot

import (
	"encoding/xml"
	"image/color"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// hostile is a name that would be markup if it were not escaped.
const hostile = `"><img src=x onerror=alert(1)>&amp;</svg><script>`

// drawing is an SVG element, parsed.
type drawing struct {
	Label  string `xml:"aria-label,attr"`
	Role   string `xml:"role,attr"`
	Groups []struct {
		Fill    string `xml:"fill,attr"`
		Anchor  string `xml:"text-anchor,attr"`
		Circles []struct {
			X     float64 `xml:"cx,attr"`
			Y     float64 `xml:"cy,attr"`
			Title string  `xml:"title"`
		} `xml:"circle"`
		Texts []struct {
			X    float64 `xml:"x,attr"`
			Y    float64 `xml:"y,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
	} `xml:"g"`
}

func drawn(t *testing.T, f Figure) (d drawing) {
	t.Helper()
	text, err := SVG(f)
	must(t, err)
	if again, _ := SVG(f); again != text {
		t.Error("drawn twice, the figure differs")
	}
	must(t, xml.Unmarshal([]byte(text), &d))
	if d.Role != "img" {
		t.Errorf("the role is %q", d.Role)
	}
	return d
}

// mark is a circle of a drawing.
type mark struct {
	x, y        float64
	title, fill string
}

func (d drawing) marks() (list []mark) {
	for _, g := range d.Groups {
		for _, c := range g.Circles {
			if c.Title != "" {
				list = append(list, mark{c.X, c.Y, c.Title, g.Fill})
			}
		}
	}
	return list
}

// textAt is where a text stands.
func (d drawing) textAt(t *testing.T, text, anchor string) (x, y float64) {
	t.Helper()
	for _, g := range d.Groups {
		for _, s := range g.Texts {
			if s.Text == text && g.Anchor == anchor {
				return s.X, s.Y
			}
		}
	}
	t.Fatalf("the drawing has no text %q anchored at its %s", text, anchor)
	return 0, 0
}

func TestSVGCanvasWritesPlacesInTheViewBox(t *testing.T) {
	c := newSVGCanvas(100, 50)
	var line vg.Path
	line.Move(vg.Point{X: 0, Y: 0})
	line.Line(vg.Point{X: 10, Y: 0})
	line.Line(vg.Point{X: 10.01, Y: 0.01}) // the same place in tenths
	c.Push()
	c.Translate(vg.Point{X: 20, Y: 5})
	c.Rotate(math.Pi / 2)
	c.Scale(2, 2)
	c.SetColor(blue)
	c.SetLineDash([]vg.Length{2, 1}, .5)
	c.Stroke(line) // (0, 0) to (10, 0): (20, 5) to (20, 25), Y counted from below
	face := font.DefaultCache.Lookup(sans(11), 11)
	c.FillString(face, vg.Point{}, "up & <away>")
	c.Pop()
	on := draw.New(c)
	setTitle(on, hostile)
	on.DrawGlyph(draw.GlyphStyle{Color: color.NRGBA{1, 2, 3, 51}, Radius: 2, Shape: draw.CircleGlyph{}}, vg.Point{X: 40, Y: 10})
	c.SetColor(nil)
	c.Fill(line)
	c.SetLineWidth(0)
	c.Stroke(line) // not drawn
	want := `<svg class="chart" viewBox="0 0 100 50" font-family="Liberation Sans,Arial,Helvetica,sans-serif" role="img" aria-label="a &lt;b&gt;">` +
		`<g fill="none" stroke="var(--plot-blue,#0072b2)" stroke-width="2" stroke-dasharray="4 2" stroke-dashoffset="1"><path d="M20 45L20 25"/></g>` +
		`<g text-anchor="start" font-size="22" fill="var(--plot-blue,#0072b2)"><text x="20" y="45" transform="rotate(-90 20 45)">up &amp; &lt;away&gt;</text></g>` +
		`<g fill="#010203" fill-opacity="0.20"><circle cx="40" cy="40" r="2"><title>&#34;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;&lt;/svg&gt;&lt;script&gt;</title></circle></g>` +
		`<g fill="var(--plot-ink,#000000)"><path d="M0 50L10 50"/></g></svg>`
	if got := c.element("a <b>"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSVGMarksStandAtTheirTicks(t *testing.T) {
	d := drawn(t, Lines{Title: "Recall", X: "epoch", Y: "percent", Whole: true,
		Lines: []Line{{Name: "a", Points: []Point{{1, 20}, {2, 60}, {3, math.NaN()}, {4, 40}}}}, Mark: &Mark{"best", 2}})
	if want := "Recall: percent over epoch; a; best"; d.Label != want {
		t.Errorf("it is called %q, want %q", d.Label, want)
	}
	marks := d.marks()
	if len(marks) != 3 {
		t.Fatalf("%d marks with titles, want 3: %v", len(marks), marks)
	}
	_, below := d.textAt(t, "20", "end")
	for i, want := range []struct {
		tickX, tickY, title string
	}{{"1", "20", "a 20 at epoch 1"}, {"2", "60", "a 60 at epoch 2"}, {"4", "40", "a 40 at epoch 4"}} {
		x, _ := d.textAt(t, want.tickX, "middle")
		_, y := d.textAt(t, want.tickY, "end")
		m := marks[i]
		if math.Abs(m.x-x) > .11 || math.Abs((m.y-marks[0].y)-(y-below)) > .11 || m.title != want.title || m.fill != "var(--plot-blue,#0072b2)" {
			t.Errorf("mark %d is %+v, want it at x %v, %v from the first, with %q", i, m, x, y-below, want.title)
		}
	}
}

func TestSVGMapKeepsItsShape(t *testing.T) {
	d := drawn(t, Map{Title: "Map", XY: []float64{10, 0, 14, 0, math.NaN(), 0, 10, 2}, Labels: []int{1, 0, 0, 1}, Titles: []string{"a", hostile, "b", "c"}})
	marks := d.marks()
	if d.Label != "Map" || len(marks) != 3 || marks[0].title != hostile || marks[1].title != "a" || marks[2].title != "c" {
		t.Fatalf("%q: %+v", d.Label, marks)
	}
	right, corner, top := marks[0], marks[1], marks[2]
	wide, high := right.x-corner.x, corner.y-top.y
	if wide < 330 || math.Abs(wide-2*high) > .31 || right.y != corner.y || top.x != corner.x {
		t.Errorf("4 wide and 2 high become %v and %v of 360", wide, high)
	}
	if corner.fill != top.fill || corner.fill == right.fill {
		t.Errorf("classes 1, 1 and 0 are %s, %s and %s", corner.fill, top.fill, right.fill)
	}
	for says, m := range map[string]Map{
		"2 coordinates and 1 titles for 2 points": {XY: []float64{1, 2}, Labels: []int{0, 1}, Titles: []string{"a"}},
		"nothing to draw":                         {XY: []float64{math.NaN(), 2}, Labels: []int{0}, Titles: []string{"a"}},
	} {
		if _, err := SVG(m); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

func TestSVGBandIsOneDeviationHigh(t *testing.T) {
	text, err := SVG(Lines{Title: "t", X: "x", Y: "y", Lines: []Line{{Name: "a", Points: []Point{{0, 2}, {1, 4}}, Deviation: []float64{1, 2}, Band: true}}})
	must(t, err)
	_, band, found := strings.Cut(text, `fill-opacity="0.25"><path d="M`)
	band, _, _ = strings.Cut(band, `Z`)
	var y []float64
	for _, corner := range strings.Split(band, "L") {
		_, s, _ := strings.Cut(corner, " ")
		v, err := strconv.ParseFloat(s, 64)
		must(t, err)
		y = append(y, v)
	}
	// Corners are 3, 6, 2 and 1: twice as high, 4, on the right as on the left.
	if !found || len(y) < 4 || math.Abs((y[2]-y[1])-2*(y[3]-y[0])) > .21 {
		t.Errorf("the corners of the band are at %v", y)
	}
}

func TestSVGOfEveryFigureEscapesNames(t *testing.T) {
	e := clusters(rand.New(rand.NewPCG(55, 42)), 8, 6, 8, 1)
	pairs, err := eval.SamplePairs(e, metric.Metric{P: 2}, eval.PairOptions{})
	must(t, err)
	h, err := pairs.Histogram(10)
	must(t, err)
	roc, err := pairs.ROC()
	must(t, err)
	names, curves := []string{hostile}, []*eval.ROC{roc}
	for what, f := range map[string]Figure{
		"loss":      Loss{hostile, hostile, []Point{{1, 2}}},
		"recall":    Recall{Metric: hostile, Test: []Point{{1, 60}, {2, 70}}, Best: math.NaN()},
		"histogram": Histogram{hostile, h, &Mark{hostile, h.Edges[1]}},
		"roc":       ROC{hostile, names, curves},
		"det":       DET{hostile, names, curves},
		"scatter":   Scatter{hostile, hostile, hostile, []float64{1}, []float64{2}, []int{0}, names},
		"bars":      Bars{hostile, hostile, names, names, [][]float64{{1}}, [][]float64{{1}}},
		"parallel":  Parallel{hostile, []string{hostile, "b"}, [][]float64{{1, 2}, {math.NaN(), 3}, {2, 1}}, []float64{1, 2, 3}},
		"groups":    Groups{hostile, hostile, names, names, [][][]float64{{{1, 2}}}},
	} {
		if d := drawn(t, f); !strings.Contains(d.Label, hostile) {
			t.Errorf("%s: it is called %q", what, d.Label)
		}
		if text, _ := SVG(f); strings.Count(text, "<svg") != 1 || strings.Contains(text, "<img") || strings.Contains(text, "<script") {
			t.Errorf("%s: a name became markup", what)
		}
	}
	// Names are text, also where the font of pictures has no glyphs for them.
	if d := drawn(t, Lines{Title: "鳥", X: "x", Y: "y", Lines: []Line{{Name: "طائر", Points: []Point{{1, 1}}}}}); d.Label != "鳥: y over x; طائر" {
		t.Errorf("it is called %q", d.Label)
	}
}

func TestLabelsThatWouldMeetAreLeftOut(t *testing.T) {
	style := draw.TextStyle{Font: sans(tickSize), Handler: plot.DefaultTextHandler}
	var labels []string
	for _, tick := range (apart{niceTicks{}, style, 120}).Ticks(0, .0008) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0.0000   0.0003   0.0006  " {
		t.Errorf("on 120 points: %q", got)
	}
}
