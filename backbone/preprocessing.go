package backbone

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// Preprocessing says how a picture becomes the network's input in evaluation:
// its shorter side is brought to Resize pixels and the middle Size x Size are
// cut out (with Stretch: it is brought to Size x Size whatever its aspect
// ratio), then each channel value 0..255 becomes (value/Range - Mean) / Std.
type Preprocessing struct {
	Size    int        `json:"size"`
	Resize  int        `json:"resize"` // 0 means Size
	Stretch bool       `json:"stretch"`
	Bicubic bool       `json:"bicubic"` // instead of bilinear; both antialiased
	Range   float64    `json:"range"`
	Mean    [3]float64 `json:"mean"` // in the order of the channels below
	Std     [3]float64 `json:"std"`
	BGR     bool       `json:"bgr"` // channels are blue, green, red
	// Crops, if not 0, is the number of squares that are cut out in evaluation: 5, the corners
	// and the middle, or 10, with their mirror images.
	Crops int `json:"crops,omitempty"`
}

// Views is the number of squares that evaluation looks at, at least 1.
func (p Preprocessing) Views() int { return max(1, p.Crops) }

// Single returns p without further crops: what training begins with, and figures show.
func (p Preprocessing) Single() Preprocessing {
	p.Crops = 0
	return p
}

// WithSize returns p for another side, with Resize in proportion.
func (p Preprocessing) WithSize(size int) Preprocessing {
	if p.Resize > 0 && p.Size > 0 {
		p.Resize = (p.Resize*size + p.Size/2) / p.Size
	}
	p.Size = size
	return p
}

// Evaluation returns the pipeline that prepares pictures so, without any draw; of several
// Crops its numbers are those of one after the other. It is nil
// for the zero Preprocessing, that of networks that take rows of numbers.
func (p Preprocessing) Evaluation() (*transform.Pipeline, error) {
	if p == (Preprocessing{}) {
		return nil, nil
	}
	return p.Recipe().EvalCrops(p.Crops, p.Normalization())
}

// Training returns the pipeline of a recipe with augmentation, which ends with
// images of p's size and range.
func (p Preprocessing) Training(r transform.Recipe) (*transform.Pipeline, error) {
	return r.WithSize(p.Size).Train(p.Normalization())
}

// Augmented returns the pipeline of an augmentation by its name, one of
// transform.Names, which ends with images of p's size and range.
func (p Preprocessing) Augmented(name string) (*transform.Pipeline, error) {
	return p.Recipe().Augmented(name, p.Normalization())
}

// Recipe is the geometry of p without augmentation.
func (p Preprocessing) Recipe() transform.Recipe {
	r := transform.Recipe{Size: p.Size, Resize: p.Resize, Stretch: p.Stretch}
	if p.Bicubic {
		r.Filter = pixels.Bicubic
	}
	return r
}

// Normalization is what makes numbers of channel values.
func (p Preprocessing) Normalization() transform.Normalization {
	return transform.Normalization{Range: p.Range, Mean: p.Mean, Std: p.Std, BGR: p.BGR}
}

// pixelRanges are the usual ways to feed channel values to a network.
func pixelRanges() []struct {
	name string
	Preprocessing
} {
	one := [3]float64{1, 1, 1}
	half := [3]float64{.5, .5, .5}
	return []struct {
		name string
		Preprocessing
	}{
		{"unit", Preprocessing{Range: 255, Std: one}},
		{"half", Preprocessing{Range: 255, Mean: half, Std: half}},
		{"imagenet", Preprocessing{Range: 255, Mean: [3]float64{.485, .456, .406}, Std: [3]float64{.229, .224, .225}}},
		{"clip", Preprocessing{Range: 255, Mean: [3]float64{.48145466, .4578275, .40821073}, Std: [3]float64{.26862954, .26130258, .27577711}}},
		{"lite", Preprocessing{Range: 1, Mean: [3]float64{127, 127, 127}, Std: [3]float64{128, 128, 128}}},
		{"caffe", Preprocessing{Range: 1, Mean: [3]float64{104, 117, 128}, Std: one, BGR: true}},
	}
}

// PixelRanges lists the values of the option pixels: "unit" (RGB in [0, 1]),
// "half" ([-1, 1]), "imagenet" (less ImageNet's mean, over its standard
// deviation), "clip" (the same of OpenAI's CLIP), "lite" (0..255 less 127, over 128) and "caffe"
// (BGR in 0..255 less 104, 117, 128).
func PixelRanges() []string {
	var names []string
	for _, r := range pixelRanges() {
		names = append(names, r.name)
	}
	return names
}

// PixelRange is the preprocessing of one of PixelRanges, without a size: WithSize gives
// it one.
func PixelRange(name string) (Preprocessing, error) {
	p, ok := pixelRange(name)
	if !ok {
		return p, fmt.Errorf("unknown range of pixels %q (there is: %s)", name, strings.Join(PixelRanges(), ", "))
	}
	return p, nil
}

// check says which field means nothing.
func (p Preprocessing) check() error {
	switch {
	case p.Size < 1 || p.Size > 4096:
		return fmt.Errorf("Preprocessing.Size is %d, want 1 to 4096 pixels", p.Size)
	case p.Resize != 0 && p.Resize < p.Size:
		return fmt.Errorf("Preprocessing.Resize is %d, want Size, %d, or more, or 0 for Size", p.Resize, p.Size)
	case !(p.Range > 0):
		return fmt.Errorf("Preprocessing.Range is %v, want a positive number, such as that of PixelRange(\"half\")", p.Range)
	case !(p.Std[0] > 0 && p.Std[1] > 0 && p.Std[2] > 0):
		return fmt.Errorf("Preprocessing.Std is %v, want positive numbers", p.Std)
	}
	return nil
}

func pixelRange(name string) (Preprocessing, bool) {
	for _, r := range pixelRanges() {
		if r.name == name {
			return r.Preprocessing, true
		}
	}
	return Preprocessing{}, false
}

// pictures returns the preprocessing of size x size pixels out of a picture
// whose shorter side is resize, in a range by its name, which the options may
// overrule.
func (o options) pictures(size, resize int, pixels string) Preprocessing {
	if o.pixels != "" {
		pixels = o.pixels
	}
	p, _ := pixelRange(pixels)
	p.Size, p.Resize = size, resize
	return p
}
