package transform

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Normalization makes a number of a channel value 0..255:
// (v/Range - Mean[c]) / Std[c], with c counted in the order of the output.
type Normalization struct {
	Range float64 // 255 brings values to 0..1, 1 leaves them
	Mean  [3]float64
	Std   [3]float64
	BGR   bool // channels are put out as B, G, R
}

// UnitRange gives 0..1.
func UnitRange() Normalization {
	return Normalization{Range: 255, Std: [3]float64{1, 1, 1}}
}

// Symmetric gives -1..1, as ViT and Inception-V3 were trained.
func Symmetric() Normalization {
	return Normalization{Range: 255, Mean: [3]float64{.5, .5, .5}, Std: [3]float64{.5, .5, .5}}
}

// ImageNet is torchvision's.
func ImageNet() Normalization {
	return Normalization{Range: 255, Mean: [3]float64{.485, .456, .406}, Std: [3]float64{.229, .224, .225}}
}

// Caffe is that of BN-Inception in Proxy-Anchor's code: B, G, R, 0..255 less a mean.
func Caffe() Normalization {
	return Normalization{Range: 1, Mean: [3]float64{104, 117, 128}, Std: [3]float64{1, 1, 1}, BGR: true}
}

func (n Normalization) check() error {
	if !(n.Range > 0) || !(n.Std[0] > 0) || !(n.Std[1] > 0) || !(n.Std[2] > 0) {
		return fmt.Errorf("normalization: range %g, std %v; they must be positive", n.Range, n.Std)
	}
	return nil
}

// Bytes lists the number that stands for each value of a channel, for the channels in
// the order of the output, and says whether that is the opposite of R, G, B. All
// numbers that a Pipeline gives are from this table.
func (n Normalization) Bytes() (table [3][256]float32, reverse bool) {
	for c := range table {
		for v := range table[c] {
			table[c][v] = float32((float64(v)/n.Range - n.Mean[c]) / n.Std[c])
		}
	}
	return table, n.BGR
}

// Pipeline brings any image to 3 x H x W numbers. NewPipeline makes it; the zero value
// is refused by whoever is given it. Its fields are for reading.
type Pipeline struct {
	W, H  int // pixels, what the last step gives
	Steps []Step
	Norm  Normalization

	table [3][256]float32 // of Norm.Bytes
	Fixed int             // leading steps without draws
	made  bool            // by NewPipeline
	views int             // crops below each other, see Recipe.EvalCrops; 0 for one
	// byView are the pipelines of an image's views, where these differ: see View.
	byView []*Pipeline
}

// NewPipeline runs steps, then norm. w x h is the size that the steps end with.
func NewPipeline(w, h int, norm Normalization, steps ...Step) (*Pipeline, error) {
	if w <= 0 || h <= 0 {
		return nil, fmt.Errorf("pipeline: size %d x %d, it must be positive", w, h)
	}
	if len(steps) == 0 {
		return nil, errors.New("pipeline: no step that gives images one size")
	}
	if i := slices.Index(steps, nil); i >= 0 {
		return nil, fmt.Errorf("pipeline: step %d is nil", i)
	}
	if err := norm.check(); err != nil {
		return nil, err
	}
	p := &Pipeline{W: w, H: h, Steps: steps, Norm: norm, made: true}
	p.table, _ = norm.Bytes()
	for p.Fixed < len(steps) && !steps[p.Fixed].Random() {
		p.Fixed++
	}
	return p, nil
}

// check refuses what NewPipeline has not made.
func (p *Pipeline) Check() error {
	if p == nil || !p.made {
		return errors.New("pipeline: want one that NewPipeline, Recipe or a network's Preprocessing made, not a zero or nil one")
	}
	return nil
}

// Size is the length of one image's numbers, 3*H*W.
func (p *Pipeline) Size() int { return 3 * p.W * p.H }

// Random reports whether any step draws.
func (p *Pipeline) Random() bool { return p.Fixed < len(p.Steps) }

// Image applies the steps and returns the picture that the numbers are made of.
// r is for the random steps; it may be nil if there are none.
func (p *Pipeline) Image(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	m, err := p.Prepare(src)
	if err != nil {
		return nil, err
	}
	return p.Finish(m, r, p.Fixed)
}

// prepare runs the leading steps that draw nothing, whose result can be kept.
func (p *Pipeline) Prepare(m *pixels.RGB) (*pixels.RGB, error) {
	return run(p.Steps[:p.Fixed], m, nil)
}

// firstCrop is the first step if that is a random crop that makes sense: then
// nothing outside its box need be decoded.
func (p *Pipeline) FirstCrop() (RandomResizedCrop, bool) {
	crop, ok := p.Steps[0].(RandomResizedCrop)
	if !ok {
		return crop, false
	}
	crop, err := crop.complete()
	return crop, err == nil
}

// finish runs the steps from number from on.
func (p *Pipeline) Finish(m *pixels.RGB, r *rand.Rand, from int) (*pixels.RGB, error) {
	m, err := run(p.Steps[from:], m, r)
	if err != nil {
		return nil, err
	}
	if m.W != p.W || m.H != p.H {
		return nil, fmt.Errorf("pipeline: the steps end with %d x %d pixels, not %d x %d", m.W, m.H, p.W, p.H)
	}
	return m, nil
}

func run(steps []Step, m *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	for _, s := range steps {
		var err error
		if m, err = s.Apply(m, r); err != nil {
			return nil, err
		}
		if m == nil || m.W < 1 || m.H < 1 {
			return nil, fmt.Errorf("pipeline: step %T returned no image", s)
		}
	}
	return m, nil
}

// Numbers writes m, which must be W x H, to dst (3, H, W), or crop after crop.
func (p *Pipeline) Numbers(dst []float32, m *pixels.RGB) {
	h := p.H / max(p.views, 1)
	for from := 0; from < p.H; from += h {
		p.numbers(dst[3*p.W*from:], m, from, h)
	}
}

// numbers writes h rows of m to dst (3, h, W).
func (p *Pipeline) numbers(dst []float32, m *pixels.RGB, from, h int) {
	plane := p.W * h
	to := [3][]float32{dst[:plane], dst[plane : 2*plane], dst[2*plane : 3*plane]}
	tables := [3]*[256]float32{&p.table[0], &p.table[1], &p.table[2]}
	if p.Norm.BGR {
		to[0], to[2] = to[2], to[0]
		tables[0], tables[2] = tables[2], tables[0]
	}
	for y := range h {
		row := m.Row(from + y)[:3*p.W]
		r, g, b := to[0][y*p.W:][:p.W], to[1][y*p.W:][:p.W], to[2][y*p.W:][:p.W]
		for x := range r {
			px := row[3*x : 3*x+3 : 3*x+3]
			r[x], g[x], b[x] = tables[0][px[0]], tables[1][px[1]], tables[2][px[2]]
		}
	}
}
