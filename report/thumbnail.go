package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
)

// thumbnailSide is the longer side of a picture on the page, in pixels; larger
// ones are made smaller.
const thumbnailSide = 112

// thumbnails makes pictures of a set small enough for a page, each once.
type thumbnails struct {
	s    *subject
	made map[int]Picture
}

func (t *thumbnails) of(ctx context.Context, row int) (Picture, error) {
	if p, ok := t.made[row]; ok {
		return p, nil
	}
	img, err := t.s.picture(ctx, row)
	if err != nil {
		return Picture{}, err
	}
	if img == nil {
		img = drawn(t.s.rows.Row(row))
	}
	url, err := dataURL(img)
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Row: row, Path: t.s.path(row), Class: t.s.class(row), URL: url}
	if t.made == nil {
		t.made = map[int]Picture{}
	}
	t.made[row] = p
	return p, nil
}

// drawn shows the numbers of an embedding, which has no picture, as gray squares from the
// smallest, black, to the largest, white, line by line.
func drawn(x []float32) image.Image {
	const square = 6 // pixels
	lowest, highest := slices.Min(x), slices.Max(x)
	side := int(math.Ceil(math.Sqrt(float64(len(x)))))
	img := image.NewGray(image.Rect(0, 0, side*square, (len(x)+side-1)/side*square))
	for i := range img.Pix {
		k := i/img.Stride/square*side + i%img.Stride/square
		if k < len(x) && highest > lowest {
			img.Pix[i] = uint8(255 * (x[k] - lowest) / (highest - lowest))
		}
	}
	return img
}

// dataURL is a picture, made small enough for a page, as a data URL: PNG or JPEG,
// whichever is smaller.
func dataURL(img image.Image) (string, error) {
	small := pixels.Thumbnail(img, thumbnailSide)
	var asPNG, asJPEG bytes.Buffer
	if err := png.Encode(&asPNG, small); err != nil {
		return "", err
	}
	if err := jpeg.Encode(&asJPEG, small, &jpeg.Options{Quality: 85}); err != nil {
		return "", err
	}
	if asPNG.Len() <= asJPEG.Len() {
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString(asPNG.Bytes()), nil
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(asJPEG.Bytes()), nil
}
