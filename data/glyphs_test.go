package data

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/outline"
)

// The hash of the whole set. It must be the same on every machine; a change of
// it means another data set and makes all published figures void.
const glyphsHash = "8c0d26ef5e5cfdbffeb1fc99c294c0b36129df0779e7fb267aa56b67fb8de7a1"

func TestGlyphsAreTheSameOnEveryMachine(t *testing.T) {
	set := mustOpen(t, "glyphs")
	if len(set.Classes) != 666 || len(set.Items) != 6660 {
		t.Errorf("%d classes, %d images; want 666, 6660", len(set.Classes), len(set.Items))
	}
	hash, err := set.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if hash != glyphsHash {
		t.Errorf("hash %s, want %s", hash, glyphsHash)
	}
}

func TestGlyphsAreCenteredGrayAndNotBlank(t *testing.T) {
	set := mustOpen(t, "glyphs")
	total := 0.0
	for i := range set.Items {
		m, err := set.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if m.W != glyphSide || m.H != glyphSide {
			t.Fatalf("%s: %d x %d", set.Where(i), m.W, m.H)
		}
		ink := 0
		for k := 0; k < len(m.Pix); k += 3 {
			if m.Pix[k] != m.Pix[k+1] || m.Pix[k] != m.Pix[k+2] {
				t.Fatalf("%s is not gray", set.Where(i))
			}
			ink += int(m.Pix[k])
		}
		if ink < 255 {
			t.Errorf("%s is nearly blank: %d", set.Where(i), ink)
		}
		total += float64(ink) / 255 / glyphBytes
	}
	// Measured once: 8.0% of the pixels are ink.
	if mean := total / float64(len(set.Items)); mean < 0.06 || mean > 0.10 {
		t.Errorf("%.3f of the pixels are ink", mean)
	}
}

func TestGlyphClassesKeepTheirCharacters(t *testing.T) {
	set := mustOpen(t, "glyphs")
	seen := map[string]bool{}
	for _, c := range set.Classes {
		seen[c] = true
	}
	for _, want := range []string{"U+0041 A", "U+0061 a", "U+0030 0", "U+00E9 é", "U+03B1 α", "U+0416 Ж", "U+2588 █"} {
		if !seen[want] {
			t.Errorf("no class %q", want)
		}
	}
	// Greek and Cyrillic capitals that look like Latin ones are dropped.
	for _, twin := range []string{"U+0391 Α", "U+0410 А", "U+0020  "} {
		if seen[twin] {
			t.Errorf("class %q is drawn as another, or blank", twin)
		}
	}
	if !strings.HasPrefix(set.Items[0].Path, "U+0021/regular") {
		t.Errorf("first item %s", set.Items[0].Path)
	}
}

func TestGlyphPosesSpanTheirRanges(t *testing.T) {
	var lo, hi [4]float64
	for i := range lo {
		lo[i], hi[i] = math.Inf(1), math.Inf(-1)
	}
	for char := range rune(2000) {
		p := glyphPose(char, "regular")
		for i, v := range []float64{
			float64(p.Scale) / outline.OnePixel, float64(p.DX) / outline.OnePixel, float64(p.DY) / outline.OnePixel,
			math.Atan2(float64(p.Sin), float64(p.Cos)) * 180 / math.Pi,
		} {
			lo[i], hi[i] = min(lo[i], v), max(hi[i], v)
		}
		if n := math.Hypot(float64(p.Sin), float64(p.Cos)) / (1 << 30); math.Abs(n-1) > 1e-8 {
			t.Fatalf("sin and cos of %d have length %.12f", char, n)
		}
	}
	for i, want := range [][2]float64{{0.75, 1.15}, {-2.5, 2.5}, {-2.5, 2.5}, {-12, 12}} {
		slack := (want[1] - want[0]) / 100
		if lo[i] < want[0]-1e-4 || hi[i] > want[1]+1e-4 || lo[i] > want[0]+slack || hi[i] < want[1]-slack {
			t.Errorf("draw %d spans %g..%g, want %v", i, lo[i], hi[i], want)
		}
	}
}

func BenchmarkOpenGlyphs(b *testing.B) {
	for b.Loop() {
		if _, err := openGlyphs(); err != nil {
			b.Fatal(err)
		}
	}
}
