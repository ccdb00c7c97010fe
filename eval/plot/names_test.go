package plot

import (
	"image"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot/font"
)

// Names in scripts that the fonts of figures do not have, or draw in the wrong order,
// are numbered; others stay.
func TestNamesWithoutGlyphsAreNumbered(t *testing.T) {
	grid, err := gridNames()
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]*figureNames{"grid": grid, "plot": newFigureNames(font.DefaultCache.Lookup(sans(labelSize), labelSize).Face)} {
		for _, c := range []struct{ name, want string }{
			{"ant", "ant"}, {"größer Ñandú", "größer Ñandú"}, {"кошка", "кошка"}, {"", ""},
			{"鳥", "(1)"}, {"とり", "(2)"}, {"새", "(3)"}, {"طائر", "(4)"}, {"ציפור", "(5)"}, {"bird 🐦", "(6)"}, {"鳥", "(1)"},
			{"two\nlines", `two\nlines`}, {"\u202egnp", `\u202egnp`}, {"caf\xe9", `caf\xE9`},
		} {
			if got := n.of(c.name); got != c.want {
				t.Errorf("%s: %q is drawn as %q, want %q", what, c.name, got, c.want)
			}
		}
	}
}

func TestFiguresWriteTheNamesThatTheyNumber(t *testing.T) {
	dir := t.TempDir()
	cell := func(name string) GridCell {
		return GridCell{Image: image.NewGray(image.Rect(0, 0, 4, 4)), Caption: name}
	}
	grid := filepath.Join(dir, "grid.png")
	if err := Grid(grid, "Nearest", []GridRow{{Query: cell("鳥"), Neighbors: []GridCell{cell("wren"), cell("鳥"), cell("🐦")}}}); err != nil {
		t.Fatal(err)
	}
	groups := filepath.Join(dir, "groups.png")
	if err := PNG(groups, Groups{Title: "Loss", Figure: "R@1", Categories: []string{"鳥", "wren"}, Series: []string{"🐦"}, Values: [][][]float64{{{1, 2}}, {{3}}}}); err != nil {
		t.Fatal(err)
	}
	bars, points := filepath.Join(dir, "bars.png"), filepath.Join(dir, "points.png")
	if err := PNG(bars, Bars{Title: "Error", Figure: "%", Categories: []string{"花", "iris"}, Series: []string{"lmnn", "鳥"}, Mean: [][]float64{{1, 2}, {math.NaN(), 3}}, Std: [][]float64{{1, 1}, {0, 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := PNG(points, Scatter{Title: "Rows", XName: "x", YName: "長さ", X: []float64{1, 2}, Y: []float64{3, 4}, Labels: []int{0, 1}, Classes: []string{"a", "鳥"}}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"bars-names.txt": "(1)\t鳥\n(2)\t花\n", "points-names.txt": "(1)\t長さ\n(2)\t鳥\n", "grid-names.txt": "(1)\t鳥\n(2)\t🐦\n", "groups-names.txt": "(1)\t🐦\n(2)\t鳥\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
	plain := filepath.Join(dir, "plain.png")
	if err := Grid(plain, "Nearest", []GridRow{{Query: cell("wren"), Neighbors: []GridCell{cell("ant")}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(namesFile(plain)); !os.IsNotExist(err) {
		t.Errorf("a figure without numbers has a file of names: %v", err)
	}
}
