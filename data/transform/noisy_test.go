package transform

import (
	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

// noisy is a w x h image whose pixels depend on seed.
func noisy(w, h int, seed uint64) *pixels.RGB {
	return &pixels.RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Noise(w, h, seed)}
}

// smoothed is a w x h gradient that depends on seed.
func smoothed(w, h int, seed uint64) *pixels.RGB {
	return &pixels.RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Gradient(w, h, seed)}
}
