package pixels

import (
	"context"
	"image"
	"image/png"
)

// pngHeader reads the size and the kind of pixels. Each pass of an interlaced
// image is decoded into an image of its own.
func pngHeader(file []byte) (header, error) {
	const firstChunk, interlace = 12, 28
	if len(file) >= firstChunk+4 && string(file[firstChunk:firstChunk+4]) == "CgBI" {
		return header{}, kindError("of Apple's own form (CgBI), as it is inside of apps")
	}
	h, err := headerBy(png.DecodeConfig)(file)
	if err == nil && file[interlace] != 0 {
		h.memory *= 2
	}
	return h, err
}

func decodePNG(ctx context.Context, file []byte) (image.Image, error) {
	m, err := png.Decode(&watched{ctx: ctx, file: file})
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	if mended := mendPNG(ctx, file); mended != nil {
		if m, second := png.Decode(&watched{ctx: ctx, file: mended}); second == nil {
			return m, nil
		}
	}
	return nil, err
}
