package layers_test

import (
	"errors"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

func TestAGraphThatDoesNotFitIsRefusedWithTheNumbers(t *testing.T) {
	eng := &counting{Engine: newEngine(t)}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x := g.Input("x", 64, 3, 32, 32)
	g.ConvModule("conv", x, 16, engine.SquareConv(3, 1, 1), true)
	before := eng.made
	const need = 4 * 64 * 16 * 32 * 32
	g.SetLimit(need - 1)
	var tooLarge *layers.MemoryError
	if err := g.Compile(); !errors.As(err, &tooLarge) || tooLarge.Need != need || tooLarge.Limit != need-1 {
		t.Errorf("got %v", err)
	}
	if eng.made != before {
		t.Errorf("%d tensors were made all the same", eng.made-before)
	}
	g.SetLimit(need)
	if err := g.Compile(); err != nil {
		t.Errorf("a graph that just fits: %v", err)
	}
	defer g.Close()
}
