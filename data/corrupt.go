package data

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
)

// Corruption damages a set on purpose, for experiments about outliers. What is
// done to an image is drawn once: it looks the same in every epoch. As text it is
// a list such as "impulse=0.1,labels=0.2".
type Corruption struct {
	// Impulse is the share of each image's pixels that become black or white,
	// either with the same probability (salt and pepper).
	Impulse float64
	// Occlusion is the share of the images of which a box of one random color
	// hides a part: 10 to 40% of the area, at ratios of its sides of 1/2 to 2.
	Occlusion float64
	// Labels is the share of the images with a wrong label, see Mislabel.
	Labels float64
}

// Area and ratio of the sides of what hides a part of an image.
const (
	minHidden, maxHidden           = 0.1, 0.4
	minHiddenRatio, maxHiddenRatio = 0.5, 2.0
)

// share is one kind of damage.
type share struct {
	name string
	of   *float64
}

func (c *Corruption) shares() []share {
	return []share{{"impulse", &c.Impulse}, {"occlusion", &c.Occlusion}, {"labels", &c.Labels}}
}

// Validate checks the shares.
func (c Corruption) Validate() error {
	for _, s := range c.shares() {
		if !(*s.of >= 0 && *s.of <= 1) {
			return fmt.Errorf("corruption %s: a share of %v is not within [0, 1]", s.name, *s.of)
		}
	}
	return nil
}

// String lists what is corrupted, as in "impulse=0.1,labels=0.2".
func (c Corruption) String() string {
	var parts []string
	for _, s := range c.shares() {
		if *s.of != 0 {
			parts = append(parts, fmt.Sprintf("%s=%g", s.name, *s.of))
		}
	}
	if len(parts) == 0 {
		return noCorruption
	}
	return strings.Join(parts, ",")
}

const noCorruption = "none"

// ParseCorruption reads what String writes.
func ParseCorruption(text string) (c Corruption, err error) {
	if text == "" || text == noCorruption {
		return c, nil
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		i := slices.IndexFunc(c.shares(), func(s share) bool { return s.name == name })
		if !ok || i < 0 {
			return c, fmt.Errorf("corruption %q: want shares as in impulse=0.1,occlusion=0.3,labels=0.2", part)
		}
		if seen[name] {
			return c, fmt.Errorf("corruption %s is given twice", name)
		}
		seen[name] = true
		if *c.shares()[i].of, err = strconv.ParseFloat(value, 64); err != nil {
			return c, fmt.Errorf("corruption %s: %q is no number", name, value)
		}
	}
	return c, c.Validate()
}

// MarshalText is String.
func (c Corruption) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseCorruption.
func (c *Corruption) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCorruption(string(text))
	return err
}

// pictures is the part that changes images.
func (c Corruption) pictures() Corruption {
	c.Labels = 0
	return c
}

// Corrupted returns the set with damaged images: of says how, by item, and seed
// draws. Larger images are first brought to the given shorter side, that of the
// network as a rule, because resizing later would average the damage away. Labels
// stay; Mislabel changes them. The result takes set over.
func Corrupted(set *Set, shorter int, seed uint64, of func(Item) Corruption) (*Set, error) {
	small, err := Shrunk(set, shorter)
	if err != nil {
		return nil, err
	}
	small.store = corrupted{small.store, seed, of}
	return small, nil
}

// corrupted is a store of damaged images.
type corrupted struct {
	store
	seed uint64
	of   func(Item) Corruption
}

// cropped marks a store whose images are their items' boxes already.
func (s corrupted) cropped() {}

func (s corrupted) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	m, err := s.store.image(ctx, it)
	c := s.of(it).pictures()
	if err != nil || c == (Corruption{}) {
		return m, err
	}
	return c.apply(m, newRand(s.seed, mixString("corrupt"), mixString(it.Path), mixString(it.Box.String()))), nil
}

// apply returns a damaged copy. Every kind draws by itself, so that more of one
// leaves the other as it is.
func (c Corruption) apply(src *pixels.RGB, r *rand.Rand) *pixels.RGB {
	dst := src.Clone()
	hide, noise := rand.New(rand.NewPCG(r.Uint64(), r.Uint64())), rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
	if hide.Float64() < c.Occlusion {
		occlude(dst, hide)
	}
	if c.Impulse > 0 {
		for y := range dst.H {
			row := dst.Row(y)
			for x := 0; x < 3*dst.W; x += 3 {
				hit, white := noise.Float64() < c.Impulse, noise.Uint64()&1
				if hit {
					v := uint8(255 * white)
					row[x], row[x+1], row[x+2] = v, v, v
				}
			}
		}
	}
	return dst
}

// occlude paints a box.
func occlude(m *pixels.RGB, r *rand.Rand) {
	area := float64(m.W*m.H) * uniform(r, minHidden, maxHidden)
	ratio := math.Exp(uniform(r, math.Log(minHiddenRatio), math.Log(maxHiddenRatio)))
	w := min(max(int(math.Round(math.Sqrt(area*ratio))), 1), m.W)
	h := min(max(int(math.Round(math.Sqrt(area/ratio))), 1), m.H)
	at := image.Pt(r.IntN(m.W-w+1), r.IntN(m.H-h+1))
	color := [3]uint8{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256))}
	box := m.Crop(at.X, at.Y, w, h)
	for y := range h {
		row := box.Row(y)
		for x := 0; x < 3*w; x += 3 {
			copy(row[x:x+3], color[:])
		}
	}
}

// Mislabel exchanges labels among a share of the set's images, drawn by seed, so
// that each of these gets a label that is not its own while every class keeps its number of images.
func Mislabel(set *Set, share float64, seed uint64) (*Set, error) {
	out := *set
	out.Items = append([]Item(nil), set.Items...)
	r := newRand(seed, mixString("mislabel"))
	chosen := r.Perm(len(set.Items))[:int(math.Round(share*float64(len(set.Items))))]
	if len(chosen) == 0 {
		return &out, nil
	}
	if len(chosen) == 1 {
		return nil, fmt.Errorf("%s: %g of its %d images is one, and labels are exchanged between two", set.Name, share, len(set.Items))
	}
	labels := make([]int, len(chosen))
	for k, from := range r.Perm(len(chosen)) {
		labels[k] = set.Items[chosen[from]].Label
	}
	own := func(k int) int { return set.Items[chosen[k]].Label }
	for k := range chosen {
		if labels[k] != own(k) {
			continue
		}
		// Exchange with another that suits both, from a random one on.
		first, found := r.IntN(len(chosen)), false
		for i := range chosen {
			j := (first + i) % len(chosen)
			if found = labels[j] != own(k) && labels[k] != own(j); found {
				labels[k], labels[j] = labels[j], labels[k]
				break
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: class %q has too many of the images for %g of all to have wrong labels", set.Name, set.Classes[own(k)], share)
		}
	}
	for k, i := range chosen {
		out.Items[i].Label = labels[k]
	}
	return &out, nil
}

// uniform draws from low..high.
func uniform(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }
