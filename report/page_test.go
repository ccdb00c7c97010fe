package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
	"github.com/vernier-ml/vernier/run"
)

// hostile is a name that would be markup if it were not escaped.
const hostile = `"><img src=x onerror=alert(1)>&amp;</svg><script>`

func samplePicture(t *testing.T, row int, class string) Picture {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 300, 20))
	img.Set(5, 5, color.White)
	url, err := dataURL(img)
	if err != nil {
		t.Fatal(err)
	}
	return Picture{Row: row, Path: class + "/1.png", Class: class, URL: url}
}

// sample is a report of two classes, one with a hostile name.
func sample(t *testing.T) *Report {
	a, b := samplePicture(t, 0, hostile), samplePicture(t, 1, "wren")
	figures := &eval.Figures{Recall: []eval.Recall{{K: 1, Percent: 50}, {K: 10, Percent: 75}}, Split: "test classes", Queries: 4, Ties: "pessimistic", LoneQueries: 1, Distance: "brm"}
	charts := section{ID: "map", Title: "Map", Note: hostile}
	for _, f := range []plot.Figure{
		plot.Lines{Title: hostile, X: hostile, Y: hostile, Lines: []plot.Line{{Name: hostile, Points: []plot.Point{{X: 1, Y: 0}, {X: 2, Y: .5}}}}, Mark: &plot.Mark{Name: hostile, X: 2}},
		plot.Map{Title: hostile, XY: []float64{0, 0, 1, 1}, Labels: []int{0, 1}, Titles: []string{hostile, "wren"}},
	} {
		if err := charts.add(f, hostile); err != nil {
			t.Fatal(err)
		}
	}
	return &Report{
		Title: hostile, Data: "folder:" + hostile, Split: "test classes", Epoch: 3, Distance: "brm", Images: 4, Classes: 2, Unit: "image",
		Settings: []Setting{{"data.spec", hostile}},
		Results: &run.Results{Model: figures, Untrained: figures, Preset: &run.PresetFigures{
			Name: "brm-cub", Data: "cub200",
			Published: []run.Published{{From: "the paper, Table 4", Seen: "paper", Recall: map[int]float64{1: 66.6}, NMI: 0.7}},
		}},
		Hardest: []Query{{Picture: a, FirstRank: 3, Nearest: []Neighbor{{Picture: b, Distance: 0.125}}}},
		Drawn:   []Query{{Picture: b, FirstRank: -1, Nearest: []Neighbor{{Picture: b, Distance: 0.25, Right: true}}}},
		Confusion: &Confusion{
			Queries: 4, Wrong: 1, Pairs: []ConfusedPair{{Class: hostile, For: "wren", Count: 1, Of: 2, From: a, To: b}},
			Names: []string{hostile, "wren"}, Matrix: [][]int{{1, 1}, {0, 2}},
		},
		Worst:  []ClassFigures{{hostile, 2, 0.5, 0.7}},
		charts: []section{charts},
	}
}

// element is one of the page.
type element struct {
	name string
	attr map[string]string
	text string
}

// parse reads a page and fails if its tags do not agree.
func parse(t *testing.T, page []byte) []element {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all []element
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is no markup: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local, attr: map[string]string{}}
			for _, a := range x.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(x)
			}
		case xml.EndElement:
			if len(open) == 0 || all[open[len(open)-1]].name != x.Name.Local {
				t.Fatalf("</%s> closes nothing", x.Name.Local)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("<%s> is not closed", all[open[0]].name)
	}
	return all
}

// checkPage checks what must hold of any page: nothing is fetched or run,
// pictures say what they show, tables have headers, links lead somewhere.
func checkPage(t *testing.T, elements []element) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range elements {
		if id := e.attr["id"]; id != "" {
			if ids[id] {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
	}
	for _, e := range elements {
		for name, value := range e.attr {
			if strings.HasPrefix(strings.ToLower(name), "on") {
				t.Errorf("<%s> runs %s", e.name, value)
			}
			if (name == "src" || name == "href") && !strings.HasPrefix(value, "data:") && !strings.HasPrefix(value, "#") {
				t.Errorf("<%s %s=%q> is fetched", e.name, name, value)
			}
			if name == "aria-labelledby" && !ids[value] {
				t.Errorf("<%s> is called after %s, which is not there", e.name, value)
			}
		}
		switch e.name {
		case "script", "iframe", "object", "embed", "form":
			t.Errorf("there is a <%s>", e.name)
		case "img":
			if e.attr["alt"] == "" || !strings.HasPrefix(e.attr["src"], "data:image/") {
				t.Errorf("a picture has alt %q and src %.20q", e.attr["alt"], e.attr["src"])
			}
		case "svg":
			if e.attr["role"] != "img" || e.attr["aria-label"] == "" {
				t.Errorf("a drawing says nothing of itself: %v", e.attr)
			}
		case "th":
			if e.attr["scope"] == "" {
				t.Errorf("the header %q has no scope", e.text)
			}
		case "a":
			if target := e.attr["href"]; !ids[strings.TrimPrefix(target, "#")] {
				t.Errorf("%s leads nowhere", target)
			}
		}
	}
}

func TestPageIsMarkupThatHoldsEverythingAndEscapesNames(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).Write(&b); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b.Bytes(), []byte("<img src=x")) || bytes.Contains(b.Bytes(), []byte("<script")) {
		t.Error("a name became markup")
	}
	elements := parse(t, b.Bytes())
	checkPage(t, elements)
	has := func(name, attr, value string) bool {
		return slices.ContainsFunc(elements, func(e element) bool { return e.name == name && e.attr[attr] == value })
	}
	if !has("img", "alt", "neighbor 1, another class: wren, wren/1.png") || !has("img", "title", "distance 0.125\nwren/1.png") || !has("img", "title", hostile+"/1.png") {
		t.Error("pictures do not say what they are")
	}
	var text strings.Builder
	for _, e := range elements {
		text.WriteString(e.text + "\n")
	}
	for _, want := range []string{hostile, "published: the paper, Table 4", "66.6", "cannot be compared", "prefers-color-scheme: dark", "1 query without a right answer", "1 of 2", "25.0%", "right at 3", "alone"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page says nothing of %q", want)
		}
	}
}

func TestPageOfAPerfectModel(t *testing.T) {
	r := sample(t)
	r.Hardest, r.Confusion.Pairs, r.Confusion.Wrong, r.Results.Preset, r.Results.Untrained = nil, nil, 0, nil, nil
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	checkPage(t, parse(t, b.Bytes()))
	if !strings.Contains(b.String(), "The nearest image of every query is of its class.") {
		t.Error("nothing is said where there are no hard queries")
	}
}

// The page sets every color of its charts, for a light and for a dark background.
func TestPageColorsItsCharts(t *testing.T) {
	light, dark, _ := strings.Cut(styleText, "prefers-color-scheme: dark")
	for _, f := range sample(t).charts[0].Figures {
		for _, use := range regexp.MustCompile(`var\((--[a-z-]+),`).FindAllStringSubmatch(string(f.SVG), -1) {
			for background, style := range map[string]string{"light": light, "dark": dark} {
				if !strings.Contains(style, use[1]+": #") {
					t.Errorf("%s has no value for a %s background", use[1], background)
				}
			}
		}
	}
}

func TestThumbnailsAreSmallAndKeepTheirShape(t *testing.T) {
	p := samplePicture(t, 0, "x")
	if !strings.HasPrefix(p.URL, "data:image/png;base64,") || len(p.URL) > 500 {
		t.Errorf("a plain picture takes %d characters: %.40s", len(p.URL), p.URL)
	}
}
