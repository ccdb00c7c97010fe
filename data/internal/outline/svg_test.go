package outline

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
)

// svgSide makes a user unit two pixels in the drawings below.
const svgSide = 40

// drawn renders what stands inside a drawing of 20 x 20 units.
func drawn(t *testing.T, inside string) *pixels.RGB {
	t.Helper()
	m, err := RenderSVG([]byte(`<svg viewBox="0 0 20 20" xmlns="http://www.w3.org/2000/svg">`+inside+`</svg>`), svgSide)
	if err != nil {
		t.Fatalf("%s: %v", inside, err)
	}
	return m
}

// ink is the black area of a drawing in square units.
func ink(m *pixels.RGB) float64 {
	sum := 0
	for i := 0; i < len(m.Pix); i += 3 {
		sum += 255 - int(m.Pix[i])
	}
	return float64(sum) / 255 / (svgSide / 20) / (svgSide / 20)
}

func TestSVGShapesHaveTheirAreas(t *testing.T) {
	const tolerance = 0.03
	for inside, want := range map[string]float64{
		`<rect x="2" y="3" width="5" height="4"/>`:                                                                    20,
		`<rect x="2" y="3" width="10" height="8" rx="2"/>`:                                                            80 - 4*(4-math.Pi),
		`<circle cx="10" cy="10" r="5"/>`:                                                                             25 * math.Pi,
		`<ellipse cx="10" cy="10" rx="5" ry="2"/>`:                                                                    10 * math.Pi,
		`<polygon points="1,1 11,1 1,11"/>`:                                                                           50,
		`<path d="M1 1h10v10H1z"/>`:                                                                                   100,
		`<path d="m1 1 10 0 0 10-10 0z"/>`:                                                                            100,
		`<path d="M5 10a5 5 0 1 0 10 0 5 5 0 10-10 0z"/>`:                                                             25 * math.Pi, // flags without separators
		`<path d="M10,10V5A5,5,0,0,1,15,10Z"/>`:                                                                       25 * math.Pi / 4,
		`<path d="M10,10V5A5,5,0,1,0,15,10Z"/>`:                                                                       25 * math.Pi * 3 / 4,
		`<path d="M0 10Q10 -10 20 10z"/>`:                                                                             400. / 3, // 2/3 of the box around a parabola
		`<path d="M0 10Q5 0 10 10T20 10z"/>`:                                                                          200. / 3,
		`<path d="M0 10c0-10 10-10 10 0s10 10 10 0z"/>`:                                                               120,
		`<path d="M0 0h16v16h-16z M4 4h8v8h-8z"/>`:                                                                    256,
		`<path fill-rule="evenodd" d="M0 0h16v16h-16z M4 4h8v8h-8z"/>`:                                                192,
		`<path d="M0 0h16v16h-16z M4 4v8h8v-8z"/>`:                                                                    192, // turned the other way
		`<g fill="none"><rect width="9" height="9"/></g>`:                                                             0,
		`<rect width="9" height="9" display="none"/>`:                                                                 0,
		`<g display="none"><g><rect width="9" height="9"/></g></g><rect width="2" height="2"/>`:                       4,
		`<rect width="10" height="10" opacity=".5"/>`:                                                                 50,
		`<g opacity=".5"><rect width="10" height="10" fill-opacity=".5"/></g>`:                                        25,
		`<g transform="translate(5 5)"><rect width="4" height="4" transform="scale(2 .5)"/></g>`:                      16,
		`<rect x="-3" y="-3" width="6" height="6" transform="rotate(45 0 0) translate(10 0) skewX(5)"/>`:              36,
		`<line x1="2" y1="5" x2="12" y2="5" stroke="black" stroke-width="3"/>`:                                        30,
		`<line x1="4" y1="5" x2="12" y2="5" stroke="black" stroke-width="3" stroke-linecap="square"/>`:                33,
		`<line x1="4" y1="5" x2="12" y2="5" stroke="#000" stroke-width="3" stroke-linecap="round"/>`:                  24 + 2.25*math.Pi,
		`<path d="M10 10h0" stroke="#000" stroke-width="6" stroke-linecap="round"/>`:                                  9 * math.Pi,
		`<rect x="4" y="4" width="8" height="8" fill="none" stroke="#000" stroke-width="2"/>`:                         100 - 36,
		`<rect x="4" y="4" width="8" height="8" fill="none" stroke="#000" stroke-width="2" stroke-linejoin="bevel"/>`: 100 - 36 - 2,
		`<rect x="4" y="4" width="8" height="8" fill="none" stroke="#000" stroke-width="2" stroke-linejoin="round"/>`: 100 - 36 - 4 + math.Pi,
		`<polyline points="4,4 12,4 12,12" fill="none" stroke="#000" stroke-width="2" stroke-miterlimit="1"/>`:        32.5 - 1,
		`<circle cx="10" cy="10" r="6" fill="none" stroke="#000" stroke-width="2"/>`:                                  (49 - 25) * math.Pi,
		`<line x1="0" y1="5" x2="20" y2="5" stroke="#000" stroke-width="2" stroke-dasharray="3 2"/>`:                  24,
		`<line x1="0" y1="5" x2="18" y2="5" stroke="#000" stroke-width="2" stroke-dasharray="3"/>`:                    18,
		`<rect x="4" y="4" width="8" height="8" fill="#fff" stroke="#000" stroke-width="2" paint-order="stroke"/>`:    100 - 64,
		`<title>x</title><metadata><any/></metadata><path/><path d=" "/>`:                                             0,
	} {
		if got := ink(drawn(t, inside)); math.Abs(got-want) > tolerance*max(want, 4) {
			t.Errorf("%s: area %.2f, want %.2f", inside, got, want)
		}
	}
}

func TestSVGColorsCoverEachOther(t *testing.T) {
	m := drawn(t, `<g fill="#f00"><rect width="20" height="20"/><rect x="10" width="10" height="20" fill="#102030"/><rect y="10" width="20" height="10" fill="White"/></g>`)
	for _, c := range []struct {
		x, y int
		want [3]uint8
	}{{5, 5, [3]uint8{255, 0, 0}}, {30, 5, [3]uint8{16, 32, 48}}, {5, 30, [3]uint8{255, 255, 255}}} {
		if got := [3]uint8(m.Row(c.y)[3*c.x:]); got != c.want {
			t.Errorf("(%d, %d) is %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestWhatSVGCannotDrawIsRefused(t *testing.T) {
	for inside, want := range map[string]string{
		`<linearGradient/>`: "linearGradient",
		`<text>x</text>`:    "text",
		`<rect width="1" height="1" fill="url(#a)"/>`: "fill",
		`<rect style="fill:red"/>`:                    "style",
		`<rect width="wide"/>`:                        "width",
		`<path clip-path="url(#a)"/>`:                 "clip-path",
		`<path d="L1 1"/>`:                            "begins",
		`<path d="M1 1 L2"/>`:                         "not the data",
		`<path d="M1 1 z 3"/>`:                        "not the data",
		`<path d="M1 1 A1 1 0 2 0 1 1"/>`:             "flag",
		`<path d="M1e9 1"/>`:                          "not the data",
		`<g transform="turn(3)"/>`:                    "turn",
		`<g transform="scale(3"/>`:                    "end",
		`<g stroke-dasharray="-1 2"/>`:                "negative",
		`<g><path/>`:                                  "damaged",
	} {
		_, err := RenderSVG([]byte(`<svg viewBox="0 0 20 20">`+inside+`</svg>`), 8)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", inside, err, want)
		}
	}
	for _, file := range []string{"", "hello", "<!-- -->"} {
		if _, err := RenderSVG([]byte(file), 8); !errors.Is(err, pixels.ErrNotImage) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := RenderSVG([]byte(`<svg><path d="M0 0"/></svg>`), 8); err == nil || !strings.Contains(err.Error(), "viewBox") {
		t.Errorf("no viewBox: %v", err)
	}
}

func TestDamagedSVGNeverPanics(t *testing.T) {
	file := []byte(`<svg viewBox="0 0 20 20"><g transform="matrix(1 0 .5 1 2 3)" stroke="#123" stroke-dasharray="2 1">` +
		`<path d="M1 1l3-4.5.5a2 3 40 10 5 5t3 3q1 1 2 2s3 3 1 1zh4"/><polyline points="1 2 3 4 3 4"/><rect x="1" width="3" height="4" rx="9"/></g></svg>`)
	r := rand.New(rand.NewPCG(5, 42))
	for range 2000 {
		bad := bytes.Clone(file)
		for range 1 + r.IntN(3) {
			bad[r.IntN(len(bad))] = "019.-eMzaA <>\"/,l"[r.IntN(17)]
		}
		if m, err := RenderSVG(bad, 8); (m == nil) == (err == nil) {
			t.Fatalf("%s: %v, %v", bad, m, err)
		}
	}
}

// FuzzSVG draws what the fuzzer made of drawings. A drawing that is refused, and any that
// ends, is right; memory and time are bounded by its size.
func FuzzSVG(f *testing.F) {
	for _, inside := range []string{
		`<rect x="2" y="3" width="10" height="8" rx="2"/>`, `<circle cx="10" cy="10" r="5" stroke="black" stroke-width="2" fill="none"/>`,
		`<path d="M2 2h6v6z m1 1 c1 1 2 2 3 0 s1 1 2 2 q1 1 2 0 t2 0 a3 3 0 0 1 4 4" fill-rule="evenodd"/>`,
		`<g transform="translate(2 3) rotate(30) scale(2)"><polygon points="0,0 4,0 4,4"/><line x1="0" y1="0" x2="5" y2="5" stroke="#123"/></g>`,
	} {
		f.Add([]byte(`<svg viewBox="0 0 20 20" xmlns="http://www.w3.org/2000/svg">` + inside + `</svg>`))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<20 {
			t.Skip()
		}
		m, err := RenderSVG(file, svgSide)
		if err == nil && (m.W != svgSide || m.H != svgSide) {
			t.Errorf("%d x %d pixels", m.W, m.H)
		}
	})
}
