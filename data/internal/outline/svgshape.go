package outline

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strings"
)

// matrix maps (x, y) to (a x + c y + e, b x + d y + f), as SVG writes it.
type matrix struct{ a, b, c, d, e, f float64 }

func unitMatrix() matrix { return matrix{a: 1, d: 1} }

func (m matrix) apply(v vec) vec {
	return vec{m.a*v.x + m.c*v.y + m.e, m.b*v.x + m.d*v.y + m.f}
}

// then returns the map that applies n first, m to the result.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b,
		m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

// viewBox maps a drawing into a square, in the middle and undistorted.
func viewBox(text string, side int) (matrix, error) {
	in := numberScanner{text: text}
	x, y, w, h := in.number(), in.number(), in.number(), in.number()
	if in.err != nil || !(w > 0) || !(h > 0) {
		return matrix{}, fmt.Errorf("viewBox=%q: want x, y, width, height", text)
	}
	s := float64(side) / max(w, h)
	return matrix{s, 0, 0, s, (float64(side)-s*w)/2 - s*x, (float64(side)-s*h)/2 - s*y}, nil
}

// parseTransform reads a list such as "translate(1 2) rotate(45)".
func parseTransform(text string) (matrix, error) {
	m := unitMatrix()
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " \t\r\n,") {
		name, rest, _ := strings.Cut(text, "(")
		list, after, ok := strings.Cut(rest, ")")
		if !ok {
			return m, errors.New("a transform without its end")
		}
		text = after
		in := numberScanner{text: list}
		var v []float64
		for in.space(); in.text != "" && in.err == nil; in.space() {
			v = append(v, in.number())
		}
		if in.err != nil {
			return m, in.err
		}
		one, err := oneTransform(strings.TrimSpace(name), v)
		if err != nil {
			return m, err
		}
		m = m.then(one)
	}
	return m, nil
}

func oneTransform(name string, v []float64) (matrix, error) {
	switch {
	case name == "matrix" && len(v) == 6:
		return matrix{v[0], v[1], v[2], v[3], v[4], v[5]}, nil
	case name == "translate" && len(v) == 1:
		return matrix{1, 0, 0, 1, v[0], 0}, nil
	case name == "translate" && len(v) == 2:
		return matrix{1, 0, 0, 1, v[0], v[1]}, nil
	case name == "scale" && len(v) == 1:
		return matrix{a: v[0], d: v[0]}, nil
	case name == "scale" && len(v) == 2:
		return matrix{a: v[0], d: v[1]}, nil
	case name == "rotate" && (len(v) == 1 || len(v) == 3):
		sin, cos := math.Sincos(v[0] * math.Pi / 180)
		turn := matrix{cos, sin, -sin, cos, 0, 0}
		if len(v) == 1 {
			return turn, nil
		}
		return matrix{1, 0, 0, 1, v[1], v[2]}.then(turn).then(matrix{1, 0, 0, 1, -v[1], -v[2]}), nil
	case name == "skewX" && len(v) == 1:
		return matrix{1, 0, math.Tan(v[0] * math.Pi / 180), 1, 0, 0}, nil
	case name == "skewY" && len(v) == 1:
		return matrix{1, math.Tan(v[0] * math.Pi / 180), 0, 1, 0, 0}, nil
	}
	return matrix{}, fmt.Errorf("transform %s with %d numbers: %w", name, len(v), errUnsupported)
}

// shapeOutlines returns what an element draws; nothing for a group.
func shapeOutlines(e xml.StartElement) ([]outline, error) {
	switch e.Name.Local {
	case "path":
		return parsePath(attr(e, "d"))
	case "polyline", "polygon":
		in := numberScanner{text: attr(e, "points")}
		var line []vec
		for in.space(); in.text != "" && in.err == nil; in.space() {
			line = append(line, vec{in.number(), in.number()})
		}
		if in.err != nil || len(line) == 0 {
			return nil, in.err
		}
		return []outline{{line, e.Name.Local == "polygon"}}, nil
	case "circle", "ellipse", "line", "rect":
	default:
		return nil, nil
	}
	v := map[string]float64{}
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "x1", "y1", "x2", "y2":
			n, err := length(a.Value)
			if err != nil {
				return nil, fmt.Errorf("%s=%q: not a length", a.Name.Local, a.Value)
			}
			v[a.Name.Local] = n
		}
	}
	switch e.Name.Local {
	case "circle":
		return ellipse(vec{v["cx"], v["cy"]}, vec{v["r"], v["r"]}), nil
	case "ellipse":
		return ellipse(vec{v["cx"], v["cy"]}, vec{v["rx"], v["ry"]}), nil
	case "line":
		return []outline{{[]vec{{v["x1"], v["y1"]}, {v["x2"], v["y2"]}}, false}}, nil
	}
	_, hasX := v["rx"]
	_, hasY := v["ry"]
	if !hasX {
		v["rx"] = v["ry"]
	} else if !hasY {
		v["ry"] = v["rx"]
	}
	return rectangle(v["x"], v["y"], v["width"], v["height"], v["rx"], v["ry"]), nil
}

func ellipse(c, r vec) []outline {
	if !(r.x > 0) || !(r.y > 0) {
		return nil
	}
	var line []vec
	for i := range 4 * curvePieces {
		line = append(line, onEllipse(c, r, float64(i)/(2*curvePieces)*math.Pi))
	}
	return []outline{{line, true}}
}

// rectangle has corners rounded by rx, ry.
func rectangle(x, y, w, h, rx, ry float64) []outline {
	if !(w > 0) || !(h > 0) {
		return nil
	}
	rx, ry = min(rx, w/2), min(ry, h/2)
	if !(rx > 0) || !(ry > 0) {
		return []outline{{[]vec{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, true}}
	}
	var line []vec
	for k, c := range []vec{{x + w - rx, y + h - ry}, {x + rx, y + h - ry}, {x + rx, y + ry}, {x + w - rx, y + ry}} {
		for i := range curvePieces + 1 {
			line = append(line, onEllipse(c, vec{rx, ry}, (float64(k)+float64(i)/curvePieces)*math.Pi/2))
		}
	}
	return []outline{{line, true}}
}
