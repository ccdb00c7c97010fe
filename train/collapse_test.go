package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func TestHowRowsFillTheSphere(t *testing.T) {
	const n, h = 1000, 32
	rng := rand.New(rand.NewPCG(3, 4))
	even, line := make([]float32, n*h), make([]float32, n*h)
	for i := range even {
		even[i] = float32(rng.NormFloat64())
	}
	for i := range n {
		line[i*h], line[i*h+1] = 1, float32(rng.NormFloat64())
	}
	near := slices.Clone(even)
	for i := range near {
		near[i] = 10 + near[i]/10 // around one direction, a hundredth of its length away
	}
	for name, c := range map[string]struct {
		x               []float32
		deviation, rank float64
		off             float64
	}{
		"even":      {even, 1, h, .05},
		"near":      {near, .01, h - 1, .05},
		"one point": {slices.Repeat([]float32{3, 0, 4, 0}, 8*n), 0, 0, 0},
		"zeros":     {make([]float32, n*h), 0, 0, 0},
	} {
		f, err := fillingOf(c.x, h)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(f.Deviation-c.deviation) > c.off*c.deviation+1e-7 || name != "one point" && math.Abs(f.Rank-c.rank) > c.off*c.rank {
			t.Errorf("%s: %+v, want a deviation of %v and a rank of %v", name, f, c.deviation, c.rank)
		}
	}
	if f, err := fillingOf(line, h); err != nil || f.Rank < 1 || f.Rank > 2.1 {
		t.Errorf("rows on an arc: %+v, %v, want a rank from 1 to 2", f, err)
	}
}

func TestACollapseTakesSeveralLooksAndNoRecovery(t *testing.T) {
	point, sound, line := filling{.01, 9}, filling{.5, 9}, filling{.5, 1.2}
	for name, c := range map[string]struct {
		looks   []filling
		classes int
		want    []bool
	}{
		"a point":               {[]filling{point, point, point, point}, 8, []bool{false, false, true, true}},
		"interrupted":           {[]filling{point, point, sound, point, point}, 8, make([]bool, 5)},
		"on the way up":         {[]filling{{.005, 9}, {.008, 9}, {.012, 9}, {.018, 9}}, 8, make([]bool, 4)},
		"a line":                {[]filling{line, line, line}, 8, []bool{false, false, true}},
		"a line of two classes": {[]filling{line, line, line}, 2, make([]bool, 3)},
	} {
		var watch collapse
		for i, f := range c.looks {
			if got := watch.look(f, c.classes); got != c.want[i] {
				t.Errorf("%s, look %d: %v, want %v", name, i, got, c.want[i])
			}
		}
	}
}

// A loss that pulls and does not push draws all images together. That is said before the
// epoch ends, once, and a sound run is not accused.
func TestACollapseIsSaidBeforeTheEpochEnds(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs, c.Epochs, c.Steps = 0, 1, 0
	c.ClassesPerBatch, c.ImagesPerClass = 4, 2
	_, l := heard(t, c)
	if says(l.warnings, "collapsed") {
		t.Errorf("said of a sound run: %q", l.warnings)
	}
	c.Steps, c.Optimizer.Rate = 120, 1e-2
	c.Loss = run.LossConfig{Name: "contrastive", Params: map[string]string{"u": "0", "v": "1e-6"}}
	if _, l = heard(t, c); !says(l.warnings, "the embeddings have collapsed to a line, at step ") {
		t.Errorf("said %q", l.warnings)
	}
}
