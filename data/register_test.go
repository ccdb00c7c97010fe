package data

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

func TestAKindOfSetsOfAProgramsOwn(t *testing.T) {
	var path string
	var decode pixels.Options
	Register("squares", func(p string, o Options) (*Set, error) {
		path, decode = p, o.Decode
		return squares(t, "1", nil), nil
	})
	Register("nothing", func(string, Options) (*Set, error) { return nil, nil })
	t.Cleanup(func() { ownKinds.Remove("squares"); ownKinds.Remove("nothing") })
	for spec, want := range map[string]string{"squares": "", "squares:some where": "some where"} {
		set, err := Open(t.Context(), spec, Options{Decode: pixels.Options{MaxPixels: 7}})
		if err != nil || set.Name != spec || len(set.Items) != 20 || path != want || decode.MaxPixels != 7 {
			t.Errorf("%s: %v, opened with %q and %+v", spec, err, path, decode)
		}
	}
	infos := List()
	if !slices.ContainsFunc(infos, func(i Info) bool { return i.Kind == "squares" && i.Usage == "squares:PATH" }) {
		t.Errorf("listed %+v", infos)
	}
	for spec, want := range map[string]string{
		"squares:": `data set "squares:": it is written squares:PATH`,
		"nothing":  "data set nothing: the data set is nil",
		"square":   "did you mean squares?",
	} {
		if _, err := Open(t.Context(), spec, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", spec, err, want)
		}
	}
}

// pairs is a sampler of a program's own: each batch is a run of items in order.
type pairs struct {
	items, batch, batches int
	change                func(epoch int, plan [][]int) [][]int
}

func (s pairs) Batches() int { return s.batches }

func (s pairs) Epoch(epoch int) [][]int {
	plan := make([][]int, s.batches)
	for b := range plan {
		for k := range s.batch {
			plan[b] = append(plan[b], (b*s.batch+k+epoch)%s.items)
		}
	}
	if s.change != nil {
		plan = s.change(epoch, plan)
	}
	return plan
}

func TestASamplerOfAProgramsOwn(t *testing.T) {
	set := squares(t, "1", nil)
	var change func(epoch int, plan [][]int) [][]int
	RegisterSampler("in-order", func(set *Set, o SamplerOptions) (Sampler, error) {
		if o != (SamplerOptions{Batch: 6, Classes: 3, Images: 2, Seed: 9}) {
			t.Errorf("options %+v", o)
		}
		return pairs{items: len(set.Items), batch: o.Batch, batches: 3, change: change}, nil
	})
	t.Cleanup(func() { ownSamplers.Remove("in-order") })
	o := SamplerOptions{Batch: 6, Classes: 3, Images: 2, Seed: 9}
	s, err := NewSampler("in-order", set, o)
	if err != nil || !slices.Equal(s.Epoch(1)[2], []int{13, 14, 15, 16, 17, 18}) {
		t.Errorf("%v", err)
	}
	if names := SamplerNames(); !slices.Equal(names, []string{"balanced", "random", "in-order"}) {
		t.Errorf("names %q", names)
	}
	calls := 0
	for want, f := range map[string]func(epoch int, plan [][]int) [][]int{
		"epoch 0 has 2 batches, Batches says 3":             func(_ int, p [][]int) [][]int { return p[:2] },
		"batch 1 of epoch 0 has 5 items, want 6":            func(_ int, p [][]int) [][]int { p[1] = p[1][:5]; return p },
		"batch 0 of epoch 1 has item 20; items of squares":  func(e int, p [][]int) [][]int { p[0][0] = 19 + e; return p },
		"epoch 0 is another one when it is asked for again": func(_ int, p [][]int) [][]int { calls++; p[0][0] = calls; return p },
	} {
		change = f
		if _, err := NewSampler("in-order", set, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if _, err := NewSampler("other", set, o); err == nil || !strings.Contains(err.Error(), `unknown sampler "other" (there is: balanced, random, in-order)`) {
		t.Errorf("%v", err)
	}
	for name, size := range map[string]int{SamplerBalanced: 6, SamplerRandom: 6} {
		s, err := NewSampler(name, set, o)
		if err != nil || CheckSampler(s, set, size) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A loader trusts no sampler.
	pipeline, err := transform.Recipe{Size: 4}.Eval(transform.UnitRange())
	if err != nil {
		t.Fatal(err)
	}
	loader, err := NewLoader(set, pipeline, LoaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Sampler{nil, pairs{items: 30, batch: 6, batches: 4}} {
		for _, err := range loader.Epoch(t.Context(), bad, 0, 0) {
			if err == nil {
				t.Error("no error")
			}
			break
		}
	}
}

// dim scales brightness by a random factor.
type dim struct{}

func (dim) Random() bool { return true }

func (dim) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	dst := pixels.NewRGB(src.W, src.H)
	f := r.Float64()
	for y := range src.H {
		for x, v := range src.Row(y) {
			dst.Row(y)[x] = uint8(f * float64(v))
		}
	}
	return dst, nil
}

func TestAnAugmentationOfAProgramsOwn(t *testing.T) {
	registerAugmentations()
	r := transform.Recipe{Size: 4, Stretch: true}
	p, err := r.Augmented("dim", transform.UnitRange())
	if err != nil || dimFor != r || len(p.Steps) != 2 || !p.Random() {
		t.Fatalf("%v, made of %+v", err, dimFor)
	}
	// What is drawn depends on epoch and item, not on how many workers there are.
	set := squares(t, "1", nil)
	var first []float32
	for _, workers := range []int{1, 3} {
		l, err := NewLoader(set, p, LoaderOptions{Seed: 5, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		var all []float32
		for b, err := range l.Epoch(t.Context(), pairs{items: 20, batch: 4, batches: 5}, 1, 2) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b.Images...)
		}
		if first == nil {
			first = all
		} else if !slices.Equal(first, all) {
			t.Error("other images with another number of workers")
		}
	}
	for name, want := range map[string]string{
		"no-steps": "augmentation no-steps: pipeline: no step", "nil-step": "augmentation nil-step: pipeline: step 1 is nil",
		"other": `unknown augmentation "other" (there is: none, flip, characters`,
	} {
		if _, err := r.Augmented(name, transform.UnitRange()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
	for name, random := range map[string]bool{transform.NoAugmentation: false, transform.FlipOnly: true, "photos": true} {
		p, err := r.Augmented(name, transform.UnitRange())
		if err != nil || p.Random() != random || p.W != 4 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatCannotBeRegisteredPanicsWithASentence(t *testing.T) {
	for want, f := range map[string]func(){
		`data.Register: "folder" is the name of a built-in one`: func() {
			Register("folder", func(string, Options) (*Set, error) { return nil, nil })
		},
		`data.Register: the function that opens "x" is nil`:        func() { Register("x", nil) },
		`data.RegisterSampler: the function that makes "x" is nil`: func() { RegisterSampler("x", nil) },
		`data.RegisterSampler: "random" is the name of a built-in one`: func() {
			RegisterSampler("random", func(*Set, SamplerOptions) (Sampler, error) { return nil, nil })
		},
		`transform.Register: "flip" is the name of a built-in one`: func() {
			transform.Register("flip", func(transform.Recipe) ([]transform.Step, error) { return nil, nil })
		},
		`transform.Register: the function that makes "x" is nil`: func() { transform.Register("x", nil) },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, want) {
					t.Errorf("%s, want %q", text, want)
				}
			}()
			f()
		}()
	}
}

var dimFor transform.Recipe // that dim was last asked for

// registerAugmentations registers once, however often tests run.
var registerAugmentations = sync.OnceFunc(func() {
	transform.Register("dim", func(r transform.Recipe) ([]transform.Step, error) {
		dimFor = r
		return []transform.Step{r.Base(), dim{}}, nil
	})
	transform.Register("no-steps", func(transform.Recipe) ([]transform.Step, error) { return nil, nil })
	transform.Register("nil-step", func(r transform.Recipe) ([]transform.Step, error) { return []transform.Step{r.Base(), nil}, nil })
})
