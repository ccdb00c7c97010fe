package transform

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Sometimes applies a step with probability P, as torchvision's RandomApply.
type Sometimes struct {
	P    float64
	Step Step
}

// Apply runs the step or returns src.
func (t Sometimes) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if t.Step == nil {
		return nil, errors.New("random application: Step is nil")
	}
	if r.Float64() >= t.P {
		return src, nil
	}
	return t.Step.Apply(src, r)
}

// Random is true.
func (t Sometimes) Random() bool { return true }

// Solarize inverts, with probability P, all channel values from Threshold on (0 means 128):
// v becomes 255 - v, as by Pillow's ImageOps.solarize.
type Solarize struct {
	P         float64
	Threshold uint8
}

// Apply inverts or returns src.
func (t Solarize) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if r.Float64() >= t.P {
		return src, nil
	}
	from := t.Threshold
	if from == 0 {
		from = 128
	}
	dst := src.Clone()
	for i, v := range dst.Pix {
		if v >= from {
			dst.Pix[i] = 255 - v
		}
	}
	return dst, nil
}

// Random is true.
func (t Solarize) Random() bool { return true }

// The augmentations that are made for training without labels, where a network learns
// that two views of one image belong together.
const (
	SimCLR  = "simclr"  // Chen et al. 2020, A simple framework for contrastive learning, App. A
	MoCoV2  = "mocov2"  // Chen et al. 2020, Improved baselines with momentum contrastive learning, and its code
	BYOL    = "byol"    // Grill et al. 2020, Bootstrap your own latent, Table 6
	Strokes = "strokes" // ours, for drawn characters
)

// viewRecipe is an augmentation that draws views of an image. The steps of view number k
// are those at k modulo their number. They all begin with the same crop.
type viewRecipe struct {
	name  string
	steps func(r Recipe) [][]Step
}

// viewRecipes are the augmentations for training without labels, in the order of their
// listing. The constants are the authors'; only the width of a blur, which they state for
// 224 pixels, is in proportion to the side. SimCLR's strength of color is 1.
func viewRecipes() []viewRecipe {
	crop := func(r Recipe, least float64, f pixels.Filter) Step {
		return RandomResizedCrop{W: r.Size, H: r.Size, MinArea: least, MaxArea: 1, Filter: f}
	}
	blur := func(r Recipe, p float64) Step {
		return Blur{p, 0.1, max(2*float64(r.Size)/224, 0.2)}
	}
	return []viewRecipe{
		{SimCLR, func(r Recipe) [][]Step {
			return [][]Step{{crop(r, 0.08, pixels.Bicubic), Flip{0.5}, Sometimes{0.8, ColorJitter{0.8, 0.8, 0.8, 0.2}}, Gray{0.2}, blur(r, 0.5)}}
		}},
		{MoCoV2, func(r Recipe) [][]Step {
			return [][]Step{{crop(r, 0.2, pixels.Bilinear), Sometimes{0.8, ColorJitter{0.4, 0.4, 0.4, 0.1}}, Gray{0.2}, blur(r, 0.5), Flip{0.5}}}
		}},
		{BYOL, func(r Recipe) [][]Step {
			view := func(blurred, solarized float64) []Step {
				return []Step{crop(r, 0.08, pixels.Bicubic), Flip{0.5}, Sometimes{0.8, ColorJitter{0.4, 0.4, 0.2, 0.1}}, Gray{0.2}, blur(r, blurred), Solarize{P: solarized}}
			}
			return [][]Step{view(1, 0), view(0.1, 0.2)}
		}},
		// A small crop of a drawn character is blank, or a line that many characters have, and
		// thin strokes would vanish in stronger changes of brightness.
		{Strokes, func(r Recipe) [][]Step {
			return [][]Step{{
				RandomResizedCrop{W: r.Size, H: r.Size, MinArea: 0.5, MaxArea: 1, Filter: r.Filter},
				Affine{Degrees: 20, MinScale: 0.8, MaxScale: 1.2, Shift: 0.1},
				Sometimes{0.5, ColorJitter{Brightness: 0.2, Contrast: 0.3}},
				blur(r, 0.5),
			}}
		}},
	}
}

// ViewNames lists the augmentations that are made for training without labels.
func ViewNames() []string {
	var names []string
	for _, v := range viewRecipes() {
		names = append(names, v.name)
	}
	return names
}

// pipeline returns the pipeline of a network whose images in evaluation r describes.
func (v viewRecipe) pipeline(r Recipe, norm Normalization) (*Pipeline, error) {
	var views []*Pipeline
	for _, steps := range v.steps(r) {
		p, err := NewPipeline(r.Size, r.Size, norm, steps...)
		if err != nil {
			return nil, fmt.Errorf("augmentation %s: %w", v.name, err)
		}
		views = append(views, p)
	}
	first := *views[0]
	if len(views) > 1 {
		first.byView = slices.Clone(views)
	}
	return &first, nil
}

// View returns the pipeline of view number k of an image, from 0. It is p itself but for
// an augmentation whose views differ, such as BYOL. Its first steps are those of p as far
// as Fixed and FirstCrop go.
func (p *Pipeline) View(k int) *Pipeline {
	if len(p.byView) == 0 {
		return p
	}
	return p.byView[k%len(p.byView)]
}
