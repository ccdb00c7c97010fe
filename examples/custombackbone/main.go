// Program custombackbone trains a network of its own, with an operation that Vernier
// does not have: a ReLU whose slope below 0 is learned (He et al. 2015, PReLU).
//
//	custombackbone RUN
//
// Started again with the same folder, it continues where it was stopped. The model in the
// folder is read by any program that registers the network.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// prelu is x where that is above 0, else the slope times x. Its inputs are x, of any
// shape, and the slope, one number.
type prelu struct{}

// Shape is that of the output, the same as of x.
func (prelu) Shape(in ...[]int) ([]int, error) {
	if len(in) != 2 || len(in[1]) != 1 || in[1][0] != 1 {
		return nil, fmt.Errorf("inputs of shapes %v, want any and one number", in)
	}
	return in[0], nil
}

func (prelu) Forward(y layers.Array, x ...layers.Array) error {
	slope := x[1].V[0]
	for i, v := range x[0].V {
		y.V[i] = max(v, 0) + slope*min(v, 0)
	}
	return nil
}

func (prelu) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	slope, sum := x[1].V[0], 0.
	for i, v := range x[0].V {
		d := dy.V[i]
		if v < 0 {
			sum += float64(d) * float64(v)
			d *= slope
		}
		if dx[0].V != nil { // nil where nobody wants it
			dx[0].V[i] = d
		}
	}
	if dx[1].V != nil {
		dx[1].V[0] = float32(sum)
	}
	return nil
}

// stage is a block of the network: convolution, batch normalization, PReLU, and pooling
// to half the size. Its parameters are NAME.conv.weight, NAME.bn.* and NAME.slope.
func stage(name string, channels int) backbone.Block {
	return backbone.Block{Name: name, Channels: channels, Add: func(b *backbone.Builder, x *layers.Node) *layers.Node {
		x = b.Graph.ConvModule(name+".conv", x, channels, engine.SquareConv(3, 1, 1), false)
		x = b.BatchNorm(name+".bn", x)
		slope := b.Graph.Param(name+".slope", layers.Bias, layers.Constant(0.25), 1)
		x = b.Graph.HostOp(name+".prelu", prelu{}, x, slope)
		return b.Graph.MaxPool(name+".pool", x, engine.SquarePool(2, 2, 0, false))
	}}
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: custombackbone RUN")
	}
	// The name by which settings and files of models have the network. Images are 32 x 32
	// pixels, of values from -1 to 1.
	backbone.Register("small-prelu", func() (backbone.Backbone, error) {
		input, err := backbone.PixelRange("half")
		if err != nil {
			return nil, err
		}
		return backbone.Sequence(input.WithSize(32), stage("one", 8), stage("two", 16), stage("three", 32))
	})
	if err := work(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, folder string) error {
	// Is the gradient of the operation right? On numbers drawn for two inputs.
	if err := layers.CheckHostOp(prelu{}, 3, []int{2, 5}, []int{1}); err != nil {
		return err
	}
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()
	cfg := run.Default("glyphs")
	if cfg.Model, err = model.DefaultSpec("small-prelu"); err != nil {
		return err
	}
	cfg.Model.Dim = 16
	cfg.ClassesPerBatch, cfg.ImagesPerClass = 8, 4
	cfg.Data.TrainClasses = "200" // of 666
	cfg.Epochs = 2                // a good model takes 20 or more
	session, err := train.Open(ctx, cfg, folder, eng, train.Options{ModelOnly: true, Restarts: 1})
	if err != nil {
		return err
	}
	defer session.Close()
	fmt.Println(session.Describe())
	if err := session.Train(ctx); err != nil {
		return err
	}
	results, err := session.Finish(ctx)
	if err != nil {
		return err
	}
	slope := make([]float32, 1)
	if err := eng.Read(slope, session.Model().Params.Get("three.slope").Value); err != nil {
		return err
	}
	recall, _ := results.Model.RecallAt(1)
	fmt.Printf("Recall@1 %.1f%%; the last slope is %.3f, from 0.25\n", recall, slope[0])
	return nil
}
