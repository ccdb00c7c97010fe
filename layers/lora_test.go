package layers_test

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

func TestLoRASpreadsPartsOverColumnsOfTheirOwn(t *testing.T) {
	l := layers.LoRA{Rank: 2, Alpha: 6} // a factor of 3
	got := l.Spread([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2)
	want := []float32{
		3, 6, 0, 0,
		9, 12, 0, 0,
		0, 0, 15, 18,
		0, 0, 21, 24,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if f := (layers.LoRA{Rank: 8}).Factor(); f != 2 {
		t.Errorf("without alpha the factor is %v, want 2", f)
	}
}

// loraBlock runs a block on tokens that a seed draws. change, unless nil, gets the parameters
// before the run.
func loraBlock(t *testing.T, b layers.TransformerBlock, change func(ps *layers.Params)) []float32 {
	t.Helper()
	g, ps := tokenGraph(t)
	x := g.Input("x", 2, 3, 4)
	y := g.TransformerBlockModule("block", x, b)
	g.Keep(y)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	fill(t, g.Engine(), g.Value(x), 3)
	if change != nil {
		change(ps)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	return read(t, g.Engine(), g.Value(y))
}

// The block with matrices beside its weights is the block with the sum of both as weights,
// which is computed here number by number: queries, keys and values have matrices of their own.
func TestLoRAIsAChangeOfTheWeightsOfAttention(t *testing.T) {
	const dim, rank, alpha = 4, 2, 3
	for _, scaled := range []bool{false, true} {
		plain := layers.TransformerBlock{Heads: 2, Hidden: 8, Eps: 1e-6, LayerScale: scaled}
		changed := plain
		changed.LoRA = layers.LoRA{Rank: rank, Alpha: alpha}
		var a, b [2][]float32 // of qkv and proj
		names := []string{"block.attn.qkv", "block.attn.proj"}
		gamma := func(ps *layers.Params) {
			if scaled { // so that the branches have an effect
				fill(t, ps.Engine(), ps.Get("block.ls1.gamma").Value, 1)
				fill(t, ps.Engine(), ps.Get("block.ls2.gamma").Value, 2)
			}
		}
		before := loraBlock(t, plain, gamma)
		if start := loraBlock(t, changed, gamma); !slices.Equal(start, before) {
			t.Errorf("LayerScale %v: matrices that have not been trained change the output", scaled)
		}
		got := loraBlock(t, changed, func(ps *layers.Params) {
			gamma(ps)
			for i, name := range names {
				for _, v := range read(t, ps.Engine(), ps.Get(name+".lora_A").Value) {
					if !(math.Abs(float64(v)) <= 1/math.Sqrt(dim)) {
						t.Errorf("%s.lora_A starts with %v, want at most %v", name, v, 1/math.Sqrt(dim))
					}
				}
				a[i] = fill(t, ps.Engine(), ps.Get(name+".lora_A").Value, uint64(10+i))
				b[i] = fill(t, ps.Engine(), ps.Get(name+".lora_B").Value, uint64(20+i))
			}
		})
		want := loraBlock(t, plain, func(ps *layers.Params) {
			gamma(ps)
			for i, name := range names {
				p := ps.Get(name + ".weight").Value
				w := read(t, ps.Engine(), p)
				for row := range len(w) / dim {
					part := row / dim // of queries, keys and values; 0 of proj
					for col := range dim {
						sum := 0.
						for k := range rank {
							sum += float64(b[i][row*rank+k]) * float64(a[i][(part*rank+k)*dim+col])
						}
						w[row*dim+col] += float32(alpha / float64(rank) * sum)
					}
				}
				if err := ps.Engine().Write(p, w); err != nil {
					t.Fatal(err)
				}
			}
		})
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5*(1+math.Abs(float64(want[i]))) {
				t.Fatalf("LayerScale %v, number %d: %v, with changed weights %v (before %v)", scaled, i, got[i], want[i], before[i])
			}
		}
		if slices.Equal(got, before) {
			t.Errorf("LayerScale %v: the matrices change nothing", scaled)
		}
	}
}

func TestGradientOfLoRAMatchesFiniteDifferences(t *testing.T) {
	g, ps := tokenGraph(t)
	x := g.Input("x", 2, 3, 6)
	block := layers.TransformerBlock{Heads: 2, Hidden: 8, Eps: 1e-3, GELU: engine.GELUErf, LayerScale: true, LoRA: layers.LoRA{Rank: 2, Alpha: 3}}
	outline := layers.NewGraph(g.Engine(), ps) // makes the parameters, so that they can be frozen
	outline.TransformerBlockModule("block", outline.Input("x", 1, 3, 6), block)
	trained := 0
	for _, p := range ps.All() {
		p.Frozen = p.Role != layers.LowRank
		if p.Trainable() {
			trained++
		}
	}
	if trained != 4 {
		t.Fatalf("%d matrices, want A and B of qkv and of proj", trained)
	}
	y := g.TransformerBlockModule("block", x, block)
	loss := g.HostLoss("loss", func(v, grads [][]float64) (float64, error) {
		sum := 0.
		for i := range v[0] {
			w := math.Sin(float64(i))
			sum += w * v[0][i]
			grads[0][i] = w
		}
		return sum, nil
	}, y)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	fill(t, g.Engine(), g.Value(x), 5)
	for i, name := range []string{"block.ls1.gamma", "block.ls2.gamma", "block.attn.qkv.lora_B", "block.attn.proj.lora_B"} {
		fill(t, g.Engine(), ps.Get(name).Value, uint64(20+i))
	}
	for _, p := range ps.All() {
		if grad := g.ParamGrad(p); (grad != nil) != p.Trainable() {
			t.Errorf("%s: a gradient is %v, trainable %v", p.Name, grad != nil, p.Trainable())
		}
	}
	wantGradients(t, g, ps, loss, "")
}
