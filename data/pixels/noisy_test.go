package pixels

import "github.com/vernier-ml/vernier/data/internal/imagetest"

// noisy is a w x h image whose pixels depend on seed.
func noisy(w, h int, seed uint64) *RGB {
	return &RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Noise(w, h, seed)}
}

// smoothed is a w x h gradient that depends on seed: JPEG keeps it well.
func smoothed(w, h int, seed uint64) *RGB {
	return &RGB{W: w, H: h, Stride: 3 * w, Pix: imagetest.Gradient(w, h, seed)}
}
