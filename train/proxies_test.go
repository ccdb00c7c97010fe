package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Rows (5,1), (5,-1) and (5,0) with mean (5,0): what is left of the first two
// points up and down, at their old length.
func TestProxiesStartApartThoughClassMeansAreAlike(t *testing.T) {
	rows := []float64{5, 1, 5, -1, 5, 0}
	got := lessTheirMean(rows, 2)
	length := math.Sqrt(26)
	want := []float64{0, length, 0, -length, 5, 0} // nothing is left of the third, which stays
	for k := range want {
		if math.Abs(got[k]-want[k]) > 1e-12 {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if rows[0] != 5 || rows[1] != 1 {
		t.Error("the means themselves have changed")
	}
}

// Of large classes a sample is enough, whose labels are those of all.
func TestProxiesStartFromAFewImagesOfEachClass(t *testing.T) {
	c := smallConfig(t, shades(t, 4, 30))
	c.Data.Validation = 0
	s := begin(t, c)
	set := s.meanSet()
	if !slices.Equal(set.Classes, s.sets.Train.Classes) {
		t.Fatalf("classes %v, want %v", set.Classes, s.sets.Train.Classes)
	}
	for label, items := range set.ByClass() {
		if len(items) != meanImages {
			t.Errorf("%d images of class %d, want %d", len(items), label, meanImages)
		}
	}
	if again := s.meanSet(); !slices.Equal(again.Items, set.Items) {
		t.Error("another draw gives other images")
	}
}

func TestSeveralProxiesOfAClassStartAroundOnePlace(t *testing.T) {
	const h, per = 64, 3
	mean := make([]float64, 2*h)
	for k := range mean {
		mean[k] = float64(1 + k/h) // lengths 8 and 16
	}
	rows := around(mean, h, per, rand.New(rand.NewPCG(1, 2)))
	if len(rows) != 2*per*h {
		t.Fatalf("%d numbers", len(rows))
	}
	for i := range 2 * per {
		off, length := 0., 8*float64(1+i/per)
		for k := range h {
			d := float64(rows[i*h+k]) - mean[i/per*h+k]
			off += d * d
		}
		if share := math.Sqrt(off) / length; share < 0.5*proxySpread || share > 1.5*proxySpread {
			t.Errorf("proxy %d lies %.3f of its class mean's length away from it, want about %v", i, share, proxySpread)
		}
	}
	if one := around(mean, h, 1, rand.New(rand.NewPCG(1, 2))); !slices.Equal(one[:h], slices.Repeat([]float32{1}, h)) {
		t.Error("a single proxy is not at its mean")
	}
}
