package outline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// vec is a point of a drawing, in its own units.
type vec struct{ x, y float64 }

func (a vec) add(b vec) vec             { return vec{a.x + b.x, a.y + b.y} }
func (a vec) sub(b vec) vec             { return vec{a.x - b.x, a.y - b.y} }
func (a vec) times(f float64) vec       { return vec{a.x * f, a.y * f} }
func (a vec) length() float64           { return math.Hypot(a.x, a.y) }
func (a vec) dot(b vec) float64         { return a.x*b.x + a.y*b.y }
func (a vec) cross(b vec) float64       { return a.x*b.y - a.y*b.x }
func (a vec) mirror(center vec) vec     { return center.times(2).sub(a) }
func lerp(a, b vec, t float64) vec      { return vec{a.x + t*(b.x-a.x), a.y + t*(b.y-a.y)} }
func onEllipse(c, r vec, a float64) vec { return vec{c.x + r.x*math.Cos(a), c.y + r.y*math.Sin(a)} }

// outline is a line of straight pieces; the last point of a closed one is joined
// to the first.
type outline struct {
	points []vec
	closed bool
}

// curvePieces is how many straight pieces take the place of a cubic curve or of
// a quarter of an ellipse.
const curvePieces = 16

// pen draws outlines.
type pen struct {
	done []outline
	line []vec
}

func (p *pen) at() vec { return p.line[len(p.line)-1] }

// lift ends the current outline.
func (p *pen) lift(closed bool) {
	if len(p.line) > 0 {
		p.done = append(p.done, outline{p.line, closed})
	}
	p.line = nil
}

func (p *pen) move(to vec) {
	p.lift(false)
	p.line = []vec{to}
}

func (p *pen) to(v vec) { p.line = append(p.line, v) }

func (p *pen) cubic(b, c, d vec) {
	a := p.at()
	for i := 1; i <= curvePieces; i++ {
		t := float64(i) / curvePieces
		u := 1 - t
		p.to(a.times(u * u * u).add(b.times(3 * u * u * t)).add(c.times(3 * u * t * t)).add(d.times(t * t * t)))
	}
}

func (p *pen) quadratic(b, c vec) {
	a := p.at()
	p.cubic(lerp(a, b, 2./3), lerp(c, b, 2./3), c)
}

// arc follows an ellipse with the given radii, turned by degrees, to a point
// (SVG 1.1, appendix F.6).
func (p *pen) arc(r vec, degrees float64, large, sweep bool, to vec) {
	from := p.at()
	r.x, r.y = math.Abs(r.x), math.Abs(r.y)
	if r.x == 0 || r.y == 0 || from == to {
		p.to(to)
		return
	}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	half := from.sub(to).times(.5)
	m := vec{cos*half.x + sin*half.y, -sin*half.x + cos*half.y}
	if grow := m.x*m.x/(r.x*r.x) + m.y*m.y/(r.y*r.y); grow > 1 {
		r = r.times(math.Sqrt(grow))
	}
	under := r.x*r.x*m.y*m.y + r.y*r.y*m.x*m.x
	k := math.Sqrt(max(r.x*r.x*r.y*r.y/under-1, 0))
	if large == sweep {
		k = -k
	}
	c := vec{k * r.x * m.y / r.y, -k * r.y * m.x / r.x}
	start := math.Atan2((m.y-c.y)/r.y, (m.x-c.x)/r.x)
	turn := math.Atan2((-m.y-c.y)/r.y, (-m.x-c.x)/r.x) - start
	if sweep && turn < 0 {
		turn += 2 * math.Pi
	} else if !sweep && turn > 0 {
		turn -= 2 * math.Pi
	}
	center := lerp(from, to, .5).add(vec{cos*c.x - sin*c.y, sin*c.x + cos*c.y})
	n := int(math.Ceil(math.Abs(turn)/(math.Pi/2)*curvePieces)) + 1
	for i := 1; i < n; i++ {
		e := onEllipse(vec{}, r, start+turn*float64(i)/float64(n))
		p.to(center.add(vec{cos*e.x - sin*e.y, sin*e.x + cos*e.y}))
	}
	p.to(to)
}

var errPath = errors.New("not the data of a path")

// parsePath reads the d attribute of a path (SVG 1.1, section 8.3).
func parsePath(d string) ([]outline, error) {
	in := numberScanner{text: d}
	p := &pen{}
	var start, control vec // of the outline, of the last curve
	var last byte
	for {
		in.space()
		if in.text == "" {
			p.lift(false)
			return p.done, nil
		}
		command := in.text[0]
		if strings.IndexByte("MmLlHhVvCcSsQqTtAaZz", command) >= 0 {
			in.text = in.text[1:]
		} else if command = last; command == 0 || command == 'Z' || command == 'z' {
			return nil, fmt.Errorf("%w at %q", errPath, someText(in.text))
		} else if command == 'M' || command == 'm' {
			command -= 'M' - 'L'
		}
		if len(p.line) == 0 && command != 'M' && command != 'm' {
			if last == 0 {
				return nil, fmt.Errorf("%w: it begins with %c", errPath, command)
			}
			if command != 'Z' && command != 'z' {
				p.line = []vec{start} // after a closed outline
			}
		}
		if err := p.step(&in, command, last, &start, &control); err != nil {
			return nil, err
		}
		last = command
	}
}

// step carries one command out.
func (p *pen) step(in *numberScanner, command, last byte, start, control *vec) error {
	now := *start
	if len(p.line) > 0 {
		now = p.at()
	}
	var origin vec
	if command >= 'a' {
		origin = now
	}
	point := func() vec { return vec{in.number(), in.number()}.add(origin) }
	reflected := now
	previous := last &^ 0x20
	switch command &^ 0x20 {
	case 'M':
		*start = point()
		p.move(*start)
	case 'Z':
		p.lift(true)
	case 'L':
		p.to(point())
	case 'H':
		p.to(vec{in.number() + origin.x, now.y})
	case 'V':
		p.to(vec{now.x, in.number() + origin.y})
	case 'C':
		b, c, d := point(), point(), point()
		p.cubic(b, c, d)
		*control = c
	case 'S':
		if previous == 'C' || previous == 'S' {
			reflected = control.mirror(now)
		}
		c, d := point(), point()
		p.cubic(reflected, c, d)
		*control = c
	case 'Q':
		b, c := point(), point()
		p.quadratic(b, c)
		*control = b
	case 'T':
		if previous == 'Q' || previous == 'T' {
			reflected = control.mirror(now)
		}
		p.quadratic(reflected, point())
		*control = reflected
	case 'A':
		r, turn := vec{in.number(), in.number()}, in.number()
		large, sweep := in.flag(), in.flag()
		p.arc(r, turn, large, sweep, point())
	}
	return in.err
}

// numberScanner reads numbers off a text; the first error stays.
type numberScanner struct {
	text string
	err  error
}

func (n *numberScanner) space() { n.text = strings.TrimLeft(n.text, " \t\r\n,") }

// number takes the longest number: "1.5.5" are two, "1-2" too.
func (n *numberScanner) number() float64 {
	n.space()
	i, dot, exponent := 0, false, false
	for ; i < len(n.text); i++ {
		switch c := n.text[i]; {
		case c >= '0' && c <= '9':
			continue
		case (c == '-' || c == '+') && (i == 0 || n.text[i-1]|0x20 == 'e'):
			continue
		case c == '.' && !dot && !exponent:
			dot = true
			continue
		case c|0x20 == 'e' && i > 0 && !exponent:
			exponent = true
			continue
		}
		break
	}
	v, err := strconv.ParseFloat(n.text[:i], 64)
	if (err != nil || math.Abs(v) > 1e6) && n.err == nil {
		n.err = fmt.Errorf("%w at %q", errPath, someText(n.text))
	}
	n.text = n.text[i:]
	return v
}

// flag takes a single 0 or 1, which need not be separated from what follows.
func (n *numberScanner) flag() bool {
	n.space()
	if n.text == "" || n.text[0] != '0' && n.text[0] != '1' {
		if n.err == nil {
			n.err = fmt.Errorf("%w: a flag is 0 or 1, not %q", errPath, someText(n.text))
		}
		return false
	}
	one := n.text[0] == '1'
	n.text = n.text[1:]
	return one
}

// someText is the beginning of a text, for messages.
func someText(s string) string { return s[:min(len(s), 20)] }
