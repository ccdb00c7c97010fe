package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/run"
)

// thumbnailSide is the longer side of a picture on the page, in pixels; larger
// ones are made smaller.
const thumbnailSide = 112

// thumbnails makes pictures of a set small enough for a page, each once.
type thumbnails struct {
	e    *run.Embedded
	made map[int]Picture
}

func (t *thumbnails) of(ctx context.Context, row int) (Picture, error) {
	if p, ok := t.made[row]; ok {
		return p, nil
	}
	it := t.e.Set.Items[row]
	img, err := t.e.Set.Load(ctx, row)
	if err != nil {
		return Picture{}, err
	}
	url, err := dataURL(img)
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Row: row, Path: it.Path, Class: t.e.Set.Classes[it.Label], URL: url}
	if t.made == nil {
		t.made = map[int]Picture{}
	}
	t.made[row] = p
	return p, nil
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
