package layers_test

import (
	"runtime"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

func TestAnOutlineHasShapesAndNoNumbers(t *testing.T) {
	ps := layers.NewParams(layers.Outline(), 1)
	g := layers.NewGraph(layers.Outline(), ps)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.LinearModule("large", g.Input("x", 2, 1<<14), 1<<14)
	runtime.ReadMemStats(&after)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if shape := ps.Get("large.weight").Value.Shape(); len(shape) != 2 || shape[0] != 1<<14 || shape[1] != 1<<14 {
		t.Errorf("shape %v", shape)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes for a parameter of 1 GiB", grown)
	}
}
