package plot

import (
	"image"
	"image/color"
	"testing"
)

// anyImage is an image that no library knows.
type anyImage struct{ size int }

func (anyImage) ColorModel() color.Model   { return color.RGBAModel }
func (p anyImage) Bounds() image.Rectangle { return image.Rect(0, 0, p.size, p.size) }
func (anyImage) At(x, y int) color.Color   { return color.RGBA{200, 100, 50, 255} }

// Small pictures are enlarged and large ones reduced by different filters.
func TestGridShowsImagesOfAnyType(t *testing.T) {
	for _, size := range []int{8, 400} {
		names, err := gridNames()
		if err != nil {
			t.Fatal(err)
		}
		g, err := newGridImage("grid.png", "any type", []GridRow{{Query: GridCell{Image: anyImage{size}}}}, names)
		if err != nil {
			t.Fatal(err)
		}
		x, y := gridMargin+gridCell/2, gridMargin+gridTitle+gridCell/2
		if got := g.RGBAAt(x, y); got != (color.RGBA{200, 100, 50, 255}) {
			t.Errorf("a picture of %d pixels: the middle of its cell is %v", size, got)
		}
	}
}
