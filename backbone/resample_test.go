package backbone_test

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
)

// The wanted numbers are those of the ONNX standard's example
// resize_upsample_scales_cubic (a = -0.75, half-pixel coordinates), which a
// grid 1..16 gives at twice its size: its first two rows.
func TestPositionsAreInterpolatedWhenAFileIsRead(t *testing.T) {
	net, err := backbone.New("vits16:positions=plain")
	if err != nil {
		t.Fatal(err)
	}
	const d = 2
	values := make([]float32, (1+16)*d)
	values[0], values[1] = 7, 8 // the class token's
	for i := range 16 {
		values[(1+i)*d], values[(1+i)*d+1] = float32(i+1), -float32(i+1)
	}
	got, ok := net.(backbone.Fitter).Fit("pos_embed", values, []int{1, 17, d}, []int{1, 65, d})
	if !ok || len(got) != 65*d {
		t.Fatalf("%v, %d numbers", ok, len(got))
	}
	if got[0] != 7 || got[1] != 8 {
		t.Errorf("the class token moved: %v", got[:2])
	}
	for i, want := range []float64{
		0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375,
		1.66015625, 1.95703125, 2.43359375, 3.0625, 3.46875, 4.09765625, 4.57421875, 4.87109375,
	} {
		if v := got[(1+i)*d : (2+i)*d]; math.Abs(float64(v[0])-want) > 1e-6 || v[1] != -v[0] {
			t.Errorf("position %d: %v, want %v", i, v, want)
		}
	}
	same, ok := net.(backbone.Fitter).Fit("pos_embed", values, []int{1, 17, d}, []int{1, 17, d})
	for i := range same {
		if !ok || same[i] != values[i] {
			t.Fatalf("the same size: number %d is %v, was %v", i, same[i], values[i])
		}
	}
}

func TestOnlySquareGridsOfPositionsAreResampled(t *testing.T) {
	net, err := backbone.New("vits16")
	if err != nil {
		t.Fatal(err)
	}
	f := net.(backbone.Fitter)
	for _, c := range []struct {
		name       string
		have, want []int
	}{
		{"pos_embed", []int{1, 18, 2}, []int{1, 65, 2}}, // DeiT's distilled network has two tokens more
		{"pos_embed", []int{1, 17, 2}, []int{1, 65, 3}},
		{"pos_embed", []int{17, 2}, []int{65, 2}},
		{"cls_token", []int{1, 17, 2}, []int{1, 65, 2}},
	} {
		n := 1
		for _, d := range c.have {
			n *= d
		}
		if _, ok := f.Fit(c.name, make([]float32, n), c.have, c.want); ok {
			t.Errorf("%s %v became %v", c.name, c.have, c.want)
		}
	}
	if err := net.CheckSize(227); err == nil {
		t.Error("227 pixels do not divide into patches, but are accepted")
	}
	if err := net.CheckSize(256); err != nil {
		t.Error(err)
	}
}

// The table of timm's networks with registers has no row of the class token.
func TestPositionsWithoutAClassTokenGetARowOfZeros(t *testing.T) {
	net, err := backbone.New("dinov2s14reg4")
	if err != nil {
		t.Fatal(err)
	}
	got, ok := net.(backbone.Fitter).Fit("pos_embed", []float32{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 4, 2}, []int{1, 5, 2})
	if want := []float32{0, 0, 1, 2, 3, 4, 5, 6, 7, 8}; !ok || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, ok, want)
	}
}
