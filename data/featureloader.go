package data

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// NewFeatureLoader loads the features of a set's images instead of the images.
// With flip half of them, drawn by the seed in Epoch, are mirrored left and right,
// which stands in for mirroring the images: convolutions whose kernels are not
// symmetric give something else.
func NewFeatureLoader(set *Set, f *Features, flip bool, o LoaderOptions) (*Loader, error) {
	if o.Pixels {
		return nil, fmt.Errorf("%s holds numbers, there are no pixels in it", f.Path)
	}
	r := &featureRows{features: f, flip: flip, set: set, rows: make([]int, len(set.Items))}
	for i, it := range set.Items {
		row, ok := f.rows[featureKey{it.Path, it.Box}]
		if !ok {
			return nil, fmt.Errorf("%s has no features of %s", f.Path, set.Where(i))
		}
		r.rows[i] = row
	}
	l, err := newLoader(set, f.Shape, o)
	if err != nil {
		return nil, err
	}
	l.features = r
	return l, nil
}

// featureRows are the features of a set's items.
type featureRows struct {
	features *Features
	flip     bool
	set      *Set
	rows     []int
}

func (r *featureRows) fill(dst []float32, item int, draw func() *rand.Rand) error {
	if err := r.features.read(dst, r.rows[item]); errors.Is(err, errUnsound) {
		return err
	} else if err != nil {
		return &ImageError{r.set.Where(item), err}
	}
	if r.flip && draw().Float64() < 0.5 {
		mirror(dst, r.features.Shape[2])
	}
	return nil
}

// mirror turns every line of w numbers round.
func mirror(x []float32, w int) {
	for ; len(x) > 0; x = x[w:] {
		for i, j := 0, w-1; i < j; i, j = i+1, j-1 {
			x[i], x[j] = x[j], x[i]
		}
	}
}
