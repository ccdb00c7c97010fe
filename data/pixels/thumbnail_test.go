package pixels

import (
	"image"
	"image/color"
	"testing"
)

func TestAThumbnailKeepsItsShapeAndIsNotEnlarged(t *testing.T) {
	for _, c := range []struct{ w, h, wantW, wantH int }{{300, 20, 30, 2}, {20, 300, 2, 30}, {1000, 1, 30, 1}, {30, 30, 30, 30}, {7, 3, 7, 3}} {
		img := image.NewUniform(color.RGBA{10, 200, 30, 255})
		got := Thumbnail(cropped{img, image.Rect(5, 6, 5+c.w, 6+c.h)}, 30)
		if b := got.Bounds(); b != image.Rect(0, 0, c.wantW, c.wantH) {
			t.Errorf("%d x %d: %v, want %d x %d", c.w, c.h, b, c.wantW, c.wantH)
		}
		if at := got.RGBAAt(c.wantW/2, c.wantH/2); at != (color.RGBA{10, 200, 30, 255}) {
			t.Errorf("%d x %d: color %v", c.w, c.h, at)
		}
	}
}

// cropped is a picture whose corner is not at 0.
type cropped struct {
	image.Image
	bounds image.Rectangle
}

func (c cropped) Bounds() image.Rectangle { return c.bounds }
