package backbone

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// FeaturesName is the backbone that takes rows of numbers, which another network made,
// in place of images. It has nothing to train: a model learns the head behind it.
const FeaturesName = "features"

// RowTaker is a Backbone whose Forward takes rows of numbers (B, Width) in place of
// images, and returns rows (B, Channels) in place of a map.
type RowTaker interface {
	Backbone
	// Width is the length of a row; 0 if that is not known yet, which only the
	// features of this package may say of a set with rows.
	Width() int
}

// TakesRows reports whether a backbone takes rows of numbers, of what length, in place
// of images. The length is 0 where the specification does not say it.
func TakesRows(b Backbone) (width int, ok bool) {
	r, ok := b.(RowTaker)
	if !ok {
		return 0, false
	}
	return r.Width(), true
}

// Options of features in a specification.
const (
	optDim  = "dim"
	optNorm = "norm"
)

// What features are brought to before the head.
const (
	RowsNone        = "none"        // as they are
	RowsLength      = "rows"        // each row to length sqrt(dim)
	RowsCoordinates = "coordinates" // each coordinate to mean 0 and deviation 1
)

// RowNorms lists the values of the option norm of features.
func RowNorms() []string { return []string{RowsNone, RowsLength, RowsCoordinates} }

// Parameters of RowsCoordinates: mean and variance of each coordinate over the training
// rows, which are not trained.
const (
	FeaturesMean = "features.mean"
	FeaturesVar  = "features.var"
)

// maxWidth is the largest length of a row of features.
const maxWidth = 1 << 20

// features passes rows on, brought to a common length or deviation.
type features struct {
	dim  int // 0 if unknown
	norm string
}

// newFeatures reads the options "dim=512,norm=rows".
func newFeatures(text string) (Backbone, error) {
	f := &features{norm: RowsNone}
	if text == "" {
		return f, nil
	}
	for _, part := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case optDim:
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxWidth {
				return nil, fmt.Errorf("%s=%s is not a number of features from 1 to %d", key, value, maxWidth)
			}
			f.dim = n
		case optNorm:
			if !slices.Contains(RowNorms(), value) {
				return nil, fmt.Errorf("%s=%s (there is: %s)", key, value, strings.Join(RowNorms(), ", "))
			}
			f.norm = value
		default:
			return nil, fmt.Errorf("unknown option %q (there is: %s, %s)", key, optDim, optNorm)
		}
	}
	return f, nil
}

// FeaturesSpec is the specification of features of a length and one of RowNorms.
func FeaturesSpec(dim int, norm string) string {
	spec := fmt.Sprintf("%s:%s=%d", FeaturesName, optDim, dim)
	if norm == "" || norm == RowsNone {
		return spec
	}
	return WithOption(spec, optNorm, norm)
}

// WithWidth returns the specification of a RowTaker for rows of a length, or what is
// wrong with that length.
func WithWidth(spec string, width int) (string, error) {
	b, err := New(spec)
	if err != nil {
		return "", err
	}
	has, ok := TakesRows(b)
	switch {
	case !ok:
		return "", fmt.Errorf("backbone %s takes images, not rows of numbers: use %s", spec, FeaturesName)
	case has == width:
		return spec, nil
	case has != 0:
		return "", fmt.Errorf("backbone %s takes rows of %d numbers, these have %d", spec, has, width)
	}
	if f, ok := b.(*features); ok {
		return FeaturesSpec(width, f.norm), nil
	}
	return "", fmt.Errorf("backbone %s takes rows of numbers and does not say how many: its Width must be %d for these rows", spec, width)
}

// Forward adds the normalization of rows x (B, dim).
func (f *features) Forward(g *layers.Graph, x *layers.Node, _ Mode) *layers.Node {
	const name = FeaturesName
	if x != nil && (len(x.Shape()) != 2 || x.Shape()[1] != f.dim) {
		g.Fail(name, fmt.Errorf("rows of shape %v, want (rows, %d)", x.Shape(), f.dim))
		return nil
	}
	switch f.norm {
	case RowsLength:
		return g.RowNorm(name+".rows", x, engine.RowNormSpec{Scale: float32(math.Sqrt(float64(f.dim))), Eps: 1e-12})
	case RowsCoordinates:
		return g.BatchNorm(name+".coordinates", x, layers.NormParams{
			Gamma: g.Fixed(name+".scale", 1, f.dim), Beta: g.Fixed(name+".shift", 0, f.dim),
			Mean: g.Param(FeaturesMean, layers.Buffer, layers.Constant(0), f.dim),
			Var:  g.Param(FeaturesVar, layers.Buffer, layers.Constant(1), f.dim),
			Eps:  1e-5, FrozenStats: true,
		})
	}
	return x
}

func (f *features) Width() int                   { return f.dim }
func (f *features) Channels() int                { return f.dim }
func (f *features) Tokens() bool                 { return false }
func (f *features) Blocks() []string             { return nil }
func (f *features) Preprocessing() Preprocessing { return Preprocessing{} }
func (f *features) Ignored() []string            { return nil }

func (f *features) CheckSize(int) error {
	return errors.New("features are rows of numbers and have no side in pixels")
}
