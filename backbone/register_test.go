package backbone

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// half are images of 16 pixels in [-1, 1].
func half(t *testing.T) Preprocessing {
	t.Helper()
	p, err := PixelRange("half")
	if err != nil {
		t.Fatal(err)
	}
	return p.WithSize(16)
}

// conv is a block of one convolution whose output has the given channels.
func conv(name string, channels, says int) Block {
	return Block{Name: name, Channels: says, Add: func(b *Builder, x *layers.Node) *layers.Node {
		return b.Conv(name, x, channels, engine.SquareConv(3, 2, 1))
	}}
}

func register(t *testing.T, name string, make func() (Backbone, error)) {
	t.Helper()
	Register(name, make)
	t.Cleanup(func() { registered.Remove(name) })
}

func TestANetworkOfAProgramsOwn(t *testing.T) {
	p := half(t)
	register(t, "tiny-2", func() (Backbone, error) {
		return Sequence(p, conv("stem", 4, 4), Block{Name: "body", Channels: 6, Add: func(b *Builder, x *layers.Node) *layers.Node {
			y := b.BatchNorm("body.bn", b.Graph.ConvModule("body.conv", x, 6, engine.SquareConv(3, 1, 1), false))
			return b.Graph.ReLU("body.relu", y)
		}})
	})
	net, err := New("tiny-2")
	if err != nil {
		t.Fatal(err)
	}
	if net.Channels() != 6 || net.Tokens() || net.Preprocessing() != p || !slices.Equal(net.Blocks(), []string{"stem", "body"}) {
		t.Errorf("%d channels, tokens %v, %v", net.Channels(), net.Tokens(), net.Blocks())
	}
	if names := Names(); names[len(names)-1] != "tiny-2" {
		t.Errorf("names %q", names)
	}
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	var norms []string
	out := net.Forward(g, g.Input("images", 2, 3, 16, 16), Mode{BatchStats: func(norm string) bool {
		norms = append(norms, norm)
		return norm == "body.bn"
	}})
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out.Shape()); got != "(2, 6, 8, 8)" {
		t.Errorf("the output has shape %v", got)
	}
	if !slices.Equal(norms, []string{"stem.bn", "body.bn"}) {
		t.Errorf("asked for the statistics of %q", norms)
	}
	var names []string
	for _, p := range ps.All() {
		names = append(names, p.Name)
	}
	want := "stem.conv.weight stem.bn.weight stem.bn.bias stem.bn.running_mean stem.bn.running_var body.conv.weight body.bn.weight body.bn.bias body.bn.running_mean body.bn.running_var"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("parameters %s", got)
	}
	// From one block on, and up to one.
	part := net.Forward(g, g.Input("maps", 2, 4, 8, 8), Mode{From: "stem"})
	if g.Err() != nil || fmt.Sprint(part.Shape()) != "(2, 6, 8, 8)" {
		t.Errorf("from stem: %v, %v", part, g.Err())
	}
	part = net.Forward(g, g.Input("images", 2, 3, 16, 16), Mode{To: "stem"})
	if g.Err() != nil || fmt.Sprint(part.Shape()) != "(2, 4, 8, 8)" {
		t.Errorf("to stem: %v, %v", part, g.Err())
	}
}

func TestWhatANetworkOfAProgramsOwnDoesWrongIsSaid(t *testing.T) {
	p := half(t)
	nothing := func(*Builder, *layers.Node) *layers.Node { return nil }
	for want, make := range map[string]func() (Backbone, error){
		"it returned": func() (Backbone, error) { return nil, errors.New("it returned") },
		"the function that was registered returned no network": func() (Backbone, error) { return nil, nil },
		"a network needs at least one block":                   func() (Backbone, error) { return Sequence(p) },
		"block 0 has no name":                                  func() (Backbone, error) { return Sequence(p, conv("", 1, 1)) },
		`block 1 has the name of another, "a"`:                 func() (Backbone, error) { return Sequence(p, conv("a", 1, 1), conv("a", 1, 1)) },
		"block a has 0 channels":                               func() (Backbone, error) { return Sequence(p, conv("a", 1, 0)) },
		"block a has no function Add":                          func() (Backbone, error) { return Sequence(p, Block{Name: "a", Channels: 1}) },
		"Preprocessing.Size is 0":                              func() (Backbone, error) { return Sequence(Preprocessing{}, conv("a", 1, 1)) },
		"Preprocessing.Range is 0":                             func() (Backbone, error) { return Sequence(Preprocessing{Size: 16}, conv("a", 1, 1)) },
		"Preprocessing.Std is [0 0 0]":                         func() (Backbone, error) { return Sequence(Preprocessing{Size: 16, Range: 1}, conv("a", 1, 1)) },
	} {
		Register("wrong", make)
		if _, err := New("wrong"); err == nil || !strings.HasPrefix(err.Error(), "backbone wrong: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
		registered.Remove("wrong")
	}
	register(t, "tiny", func() (Backbone, error) { return Sequence(p, conv("a", 4, 4)) })
	if _, err := New("tiny:pixels=unit"); err == nil || !strings.Contains(err.Error(), `takes no options, but is written "tiny:pixels=unit"`) {
		t.Errorf("options: %v", err)
	}
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for want, block := range map[string]Block{
		"a: the block's output has shape (1, 4, 8, 8), with 4 channels, but Block.Channels is 5": conv("a", 4, 5),
		"a: the block returned no output": {Name: "a", Channels: 1, Add: nothing},
		"a: the last block's output has shape (1, 3), want a feature map": {Name: "a", Channels: 3, Add: func(b *Builder, x *layers.Node) *layers.Node {
			return b.Graph.GlobalAvg("pool", x)
		}},
	} {
		net, err := Sequence(p, block)
		if err != nil {
			t.Fatal(err)
		}
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		net.Forward(g, g.Input("images", 1, 3, 16, 16), Mode{})
		if g.Err() == nil || !strings.Contains(g.Err().Error(), want) {
			t.Errorf("%v, want %q in it", g.Err(), want)
		}
	}
	tokens, err := TokenSequence(p, conv("a", 4, 4))
	if err != nil {
		t.Fatal(err)
	}
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	tokens.Forward(g, g.Input("images", 1, 3, 16, 16), Mode{})
	if g.Err() == nil || !strings.Contains(g.Err().Error(), "want tokens (images, tokens, channels)") {
		t.Errorf("a map for tokens: %v", g.Err())
	}
	for name, make := range map[string]func() (Backbone, error){"resnet50": func() (Backbone, error) { return nil, nil }, "x": nil} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "backbone.Register: ") {
					t.Errorf("%q: %v", name, r)
				}
			}()
			Register(name, make)
		}()
	}
}
