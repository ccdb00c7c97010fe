package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Recipe describes the usual pipelines with a few settings. The zero value of a
// setting switches it off.
type Recipe struct {
	Size    int           // side of the square that the network sees
	Resize  int           // shorter side before cropping; 0 means Size
	Stretch bool          // resize to Size x Size whatever the aspect ratio, no crop
	Filter  pixels.Filter // of all resizing

	// Training only.
	Shrink             int     // larger images are first brought to this shorter side; the result is what a Loader keeps in memory
	MinArea, MaxArea   float64 // random resized crop of the whole image, if MaxArea > 0
	Pad                int     // pixels of padding, after which a crop is drawn
	Degrees            float64 // affine
	MinScale, MaxScale float64
	Shift              float64 // share of a side
	Flip               bool
	Jitter             float64 // strength of brightness, contrast and saturation; hue turns by a quarter of it
	Gray, Blur, Erase  float64 // probabilities
	Fill               Fill    // what lies beyond the border after Pad and affine
}

// Eval returns the pipeline of evaluation: no draws.
func (r Recipe) Eval(norm Normalization) (*Pipeline, error) {
	return NewPipeline(r.Size, r.Size, norm, r.Base())
}

// Base is the step of evaluation, which gives an image the size that the network sees.
func (r Recipe) Base() Step {
	if r.Stretch {
		return Stretch{r.Size, r.Size, r.Filter}
	}
	return ShorterCrop{max(r.Resize, r.Size), r.Size, r.Size, r.Filter}
}

// Train returns the pipeline of training.
func (r Recipe) Train(norm Normalization) (*Pipeline, error) {
	var steps []Step
	if r.MaxArea > 0 {
		if r.Shrink > 0 {
			steps = append(steps, Shrink{r.Shrink, r.Filter})
		}
		steps = append(steps, RandomResizedCrop{W: r.Size, H: r.Size, MinArea: r.MinArea, MaxArea: r.MaxArea, Filter: r.Filter})
	} else {
		steps = append(steps, r.Base())
	}
	if r.Degrees > 0 || r.Shift > 0 || r.MinScale != r.MaxScale {
		steps = append(steps, Affine{r.Degrees, r.MinScale, r.MaxScale, r.Shift, r.Fill})
	}
	if r.Pad > 0 {
		steps = append(steps, RandomCrop{r.Size, r.Size, r.Pad, r.Fill})
	}
	if r.Flip {
		steps = append(steps, Flip{0.5})
	}
	if r.Jitter > 0 {
		steps = append(steps, ColorJitter{r.Jitter, r.Jitter, r.Jitter, min(r.Jitter/4, 0.5)})
	}
	if r.Gray > 0 {
		steps = append(steps, Gray{r.Gray})
	}
	if r.Blur > 0 {
		steps = append(steps, Blur{r.Blur, 0.1, max(0.01*float64(r.Size), 0.2)})
	}
	if r.Erase > 0 {
		steps = append(steps, Erase{P: r.Erase, Color: [3]uint8{124, 116, 104}}) // the mean of ImageNet
	}
	return NewPipeline(r.Size, r.Size, norm, steps...)
}

// presets are the recipes by name, in the order of their listing.
func presets() []struct {
	name string
	Recipe
} {
	return []struct {
		name string
		Recipe
	}{
		{"characters", Recipe{Size: 32, Stretch: true, Degrees: 10, MinScale: 0.9, MaxScale: 1.1, Shift: 0.06}},
		{"photos", Recipe{Size: 64, Shrink: 96, MinArea: 0.36, MaxArea: 1, Flip: true}},
		{"pa", Recipe{Size: 224, Resize: 256, MinArea: 0.08, MaxArea: 1, Flip: true}},
		{"ms", Recipe{Size: 227, Resize: 256, MinArea: 0.16, MaxArea: 1, Flip: true}},
		{"ibc", Recipe{Size: 227, Resize: 256, MinArea: 0.08, MaxArea: 1, Flip: true, Erase: 0.5}},
		{"vit", Recipe{Size: 224, Filter: pixels.Bicubic, MinArea: 0.2, MaxArea: 1, Flip: true}},
		{"eval-224", Recipe{Size: 224, Resize: 256}},
		{"eval-227", Recipe{Size: 227, Resize: 256}},
	}
}

// Preset returns a recipe by name: "characters" (no mirroring) and "photos" for
// small networks, "pa" (Proxy-Anchor), "ms" (Multi-Similarity), "ibc"
// (intra-batch connections, with random erasing), "vit" (hyp_metric) as those papers'
// code has them, "eval-224" and "eval-227" without augmentation.
func Preset(name string) (Recipe, error) {
	for _, p := range presets() {
		if p.name == name {
			return p.Recipe, nil
		}
	}
	return Recipe{}, fmt.Errorf("unknown preset %q; there are %s", name, strings.Join(PresetNames(), ", "))
}

// PresetNames lists what Preset knows.
func PresetNames() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return slices.Clip(names)
}

// WithSize returns the recipe for another side, with Resize and Shrink in
// proportion.
func (r Recipe) WithSize(size int) Recipe {
	if r.Size > 0 {
		r.Resize = (r.Resize*size + r.Size/2) / r.Size
		r.Shrink = (r.Shrink*size + r.Size/2) / r.Size
	}
	r.Size = size
	return r
}
