package data

import (
	"context"
	"fmt"
	"path"
	"strings"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/gomediumitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/vernier-ml/vernier/data/internal/outline"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/hash64"
)

// The glyph set: how it is drawn. Changing any of these makes another set.
const (
	glyphSide   = 32   // pixels
	glyphEm     = 24   // pixels an em at size 1
	glyphMiddle = -700 // font units above the baseline that come to the middle of the image
	fontUnits   = 2048 // an em
)

// face is one font of the family.
type face struct {
	name string
	ttf  []byte
}

// faces are the Go fonts without the two small-caps ones, whose lower case is
// drawn as upper. The first is the regular one.
func faces() []face {
	return []face{
		{"regular", goregular.TTF}, {"bold", gobold.TTF}, {"bold-italic", gobolditalic.TTF}, {"italic", goitalic.TTF},
		{"medium", gomedium.TTF}, {"medium-italic", gomediumitalic.TTF}, {"mono", gomono.TTF}, {"mono-bold", gomonobold.TTF},
		{"mono-bold-italic", gomonobolditalic.TTF}, {"mono-italic", gomonoitalic.TTF},
	}
}

// glyphStore holds the drawn images, light on black.
type glyphStore struct {
	pixels []uint8 // (items, glyphSide, glyphSide)
}

const glyphBytes = glyphSide * glyphSide

func (s *glyphStore) name(it Item) string { return "glyphs!" + it.Path }

func (s *glyphStore) close() error { return nil }

func (s *glyphStore) gray(it Item) []uint8 {
	return s.pixels[it.index*glyphBytes : (it.index+1)*glyphBytes]
}

func (s *glyphStore) content(it Item) ([]byte, error) { return s.gray(it), nil }

func (s *glyphStore) image(_ context.Context, it Item) (*pixels.RGB, error) {
	m := pixels.NewRGB(glyphSide, glyphSide)
	m.SetGray(s.gray(it))
	return m, nil
}

// openGlyphs draws the set: a class is a character that every face has, an
// image is its drawing in one face. It takes about a tenth of a second.
func openGlyphs() (*Set, error) {
	p, err := newGlyphPainter()
	if err != nil {
		return nil, err
	}
	store := new(glyphStore)
	set := &Set{store: store}
	seen := map[string]bool{}
	// All Unicode characters of the fonts lie in the basic plane.
	for char := rune(0); char <= 0xffff; char++ {
		if !p.inAll(char) {
			continue
		}
		regular, err := p.plain(char)
		if err != nil {
			return nil, err
		}
		if regular == "" || seen[regular] {
			continue
		}
		seen[regular] = true
		class := fmt.Sprintf("U+%04X %c", char, char)
		for i, f := range p.faces {
			from := len(store.pixels)
			store.pixels = append(store.pixels, make([]uint8, glyphBytes)...)
			if err := p.draw(store.pixels[from:], i, char, glyphPose(char, f.name)); err != nil {
				return nil, err
			}
			code, _, _ := strings.Cut(class, " ")
			set.Items = append(set.Items, Item{Path: path.Join(code, f.name), Label: len(set.Classes), index: len(set.Items)})
		}
		set.Classes = append(set.Classes, class)
	}
	return set, nil
}

// glyphPose draws how a character lies in a face's image, from those two alone:
// size 0.75..1.15, shift up to 2.5 pixels on each axis, rotation up to 12 degrees.
func glyphPose(char rune, faceName string) outline.Pose {
	h := mixAll(uint64(char), mixString(faceName))
	uniform := func(lo, hi int64) int64 { // in whole numbers
		h = hash64.Mix(h + hash64.Gamma)
		return lo + int64(h>>33)*(hi-lo)>>31
	}
	const unit = int64(1) << 16
	p := outline.Pose{Scale: uniform(unit*75/100, unit*115/100), DX: uniform(-unit*5/2, unit*5/2), DY: uniform(-unit*5/2, unit*5/2)}
	const twelveDegrees = 224882106 // 12 pi/180 in 1/2^30
	p.Sin, p.Cos = sinCos(uniform(-twelveDegrees, twelveDegrees))
	return p
}

// sinCos are the Taylor series for small angles, all in 1/2^30.
func sinCos(angle int64) (sin, cos int64) {
	const one = int64(1) << 30
	square := angle * angle >> 30
	series := func(divisors ...int64) int64 { // 1 - x^2/d1 (1 - x^2/d2 (...))
		v := one
		for _, d := range divisors {
			v = one - (square*v>>30)/d
		}
		return v
	}
	return angle * series(72, 42, 20, 6) >> 30, series(56, 30, 12, 2)
}

// glyphPainter draws characters in all faces. Not concurrent.
type glyphPainter struct {
	faces  []face
	fonts  []*sfnt.Font
	buffer sfnt.Buffer
	raster *outline.Rasterizer
}

func newGlyphPainter() (*glyphPainter, error) {
	p := &glyphPainter{faces: faces(), raster: outline.NewRasterizer(glyphSide)}
	for _, f := range p.faces {
		font, err := sfnt.Parse(f.ttf)
		if err != nil {
			return nil, fmt.Errorf("font %s: %w", f.name, err)
		}
		if font.UnitsPerEm() != fontUnits {
			return nil, fmt.Errorf("font %s: %d units an em, not %d", f.name, font.UnitsPerEm(), fontUnits)
		}
		p.fonts = append(p.fonts, font)
	}
	return p, nil
}

// inAll says whether every face has the character.
func (p *glyphPainter) inAll(char rune) bool {
	for _, f := range p.fonts {
		if g, err := f.GlyphIndex(&p.buffer, char); err != nil || g == 0 {
			return false
		}
	}
	return true
}

// plain is the regular drawing, upright and in its place, "" if it is blank.
func (p *glyphPainter) plain(char rune) (string, error) {
	dst := make([]uint8, glyphBytes)
	if err := p.draw(dst, 0, char, outline.Upright); err != nil {
		return "", err
	}
	for _, v := range dst {
		if v != 0 {
			return string(dst), nil
		}
	}
	return "", nil
}

// draw renders a character of a face. The middle of its advance width, at a
// fixed height above the baseline, comes to lie in the middle of the image.
func (p *glyphPainter) draw(dst []uint8, face int, char rune, at outline.Pose) error {
	font := p.fonts[face]
	const wholeUnits = fixed.Int26_6(fontUnits << 6)
	g, err := font.GlyphIndex(&p.buffer, char)
	if err != nil {
		return fmt.Errorf("font %s, %U: %w", p.faces[face].name, char, err)
	}
	advance, err := font.GlyphAdvance(&p.buffer, g, wholeUnits, 0)
	if err != nil {
		return fmt.Errorf("font %s, %U: %w", p.faces[face].name, char, err)
	}
	outline, err := font.LoadGlyph(&p.buffer, g, wholeUnits, nil)
	if err != nil {
		return fmt.Errorf("font %s, %U: %w", p.faces[face].name, char, err)
	}
	p.raster.Draw(dst, outline, int64(advance)/2, glyphMiddle<<6, glyphEm, at)
	return nil
}
