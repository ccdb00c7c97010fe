package pixels

import (
	"image"

	"golang.org/x/image/draw"
)

// Thumbnail is a picture at most side pixels wide and high, for people to look at.
// One that is no larger keeps its size.
func Thumbnail(img image.Image, side int) *image.RGBA {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if large := max(w, h); large > side {
		w, h = max(1, w*side/large), max(1, h*side/large)
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(small, small.Bounds(), img, b, draw.Src, nil)
	return small
}
