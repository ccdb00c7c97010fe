package train

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
)

func TestTheSampleOfADryRunIsOfWholeClassesAndOfPairsFirst(t *testing.T) {
	set := &data.Set{Classes: []string{"a", "b", "c", "d"}}
	for _, label := range []int{0, 1, 1, 1, 2, 2, 3, 3} {
		set.Items = append(set.Items, data.Item{Label: label})
	}
	for enough, want := range map[int]int{1: 5, 5: 5, 6: 7, 100: 8} {
		if part := firstClasses(set, enough); len(part.Items) != want {
			t.Errorf("%d images of %d that are enough, want %d", len(part.Items), enough, want)
		}
	}
	x := &eval.Embeddings{X: []float32{1, 2, 3, 4, 5, 6}, N: 2, H: 3, Labels: []int{0, 1}}
	if w := widened(x, 5); w.H != 5 || !slices.Equal(w.X, []float32{1, 2, 3, 1, 2, 4, 5, 6, 4, 5}) {
		t.Errorf("widened to %+v", w)
	}
	if w := widened(x, 2); !slices.Equal(w.X, []float32{1, 2, 4, 5}) {
		t.Errorf("narrowed to %+v", w)
	}
}

func TestTheFinalMeasurementCountsForTheMemoryOfARun(t *testing.T) {
	p := MemoryPlan{Program: 10 << 20, Activations: 5 << 20, End: 40 << 20}
	if p.Training() != 15<<20 || p.Total() != 40<<20 {
		t.Errorf("training %d, in all %d", p.Training(), p.Total())
	}
	p.Activations = 100 << 20
	if p.Total() != 110<<20 {
		t.Errorf("in all %d", p.Total())
	}
}
