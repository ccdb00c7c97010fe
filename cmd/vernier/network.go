package main

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// networkFlags describe a model and the weights it starts from; train and eval
// share them.
type networkFlags struct {
	spec     model.Spec
	weights  run.WeightsConfig
	trunkEnd string
	metric   string
	scale    string

	inputNorm string
}

// networkPlaces says where a flag stands in the configuration.
var networkPlaces = map[string]string{
	"backbone": "model.backbone", "weights": "weights.path", "weights-dict": "weights.dictionary",
	"size": "model.input.size", "resize": "model.input.resize", "pool": "model.pool", "head": "model.head", "head-norm": "model.head_norm", "dropout": "model.dropout", "drop-path": "model.drop_path",
	"dim": "model.dim", "metric": "model.metric", "normalization": "model.normalization",
}

// networkHelp explains the flags in the help of both commands.
const networkHelp = `A backbone is a name, or a name with options after a colon, as in
inceptionv3:pixels=unit,count-pad=false. Options are trunk-end=BLOCK (ends a
convolutional network there), pixels=RANGE (what values it is fed: unit for
[0,1], half for [-1,1], imagenet, clip, caffe), bn-momentum=M, and count-pad=BOOL
(whether average pools of inceptionv3 count padding). Transformers take eps=E,
gelu=erf|quick|tanh, positions=plain|offset|antialias|align_corners, grid=SIDE and,
CLIP's, proj=BOOL: docs/backbones.md says which files want which. --weights takes the
public files of these networks, transformers' also in the layouts of timm,
torchvision, transformers, DINO, DINOv2, CLIP and OpenCLIP; classifiers in them are
left out. --dim 0 leaves out the
linear layer: embeddings are then the pooled features.`

func (f *networkFlags) add(fl *pflag.FlagSet, start model.Spec) {
	f.spec = start
	fl.StringVar(&f.spec.Backbone, "backbone", start.Backbone, "network: "+strings.Join(backbone.Patterns(), ", "))
	fl.StringVar(&f.trunkEnd, "trunk-end", "", "block at which a convolutional network ends (default its last)")
	fl.StringVar(&f.weights.Path, "weights", "", "weights that the network starts from: a file (safetensors, .pth, .pt, .npz) or a name that vernier weights get lists (default drawn at random)")
	fl.StringVar(&f.weights.Dictionary, "weights-dict", "", weightsDictHelp)
	fl.IntVar(&f.spec.Input.Size, "size", 0, "side of the square that the network sees, in pixels (default the backbone's)")
	fl.IntVar(&f.spec.Input.Resize, "resize", 0, "shorter side that pictures are brought to before that square is cut out (default the backbone's, in proportion)")
	fl.StringVar((*string)(&f.spec.Pool), "pool", "", "global pooling: "+strings.Join(model.Pools(), ", ")+" (default cls for transformers, else avg+max)")
	fl.StringVar((*string)(&f.spec.Head), "head", string(start.Head), "what makes an embedding of features: "+strings.Join(model.Heads(), ", ")+" (hidden layers with ReLU before the linear one, or one whose output is added to the features)")
	fl.Float64Var(&f.spec.Dropout, "dropout", 0, "share of the numbers that hidden layers of the head give, or where it has none that it is given, that a training step leaves out; 0 for none")
	fl.Float64Var(&f.spec.DropPath, "drop-path", 0, "probability with which an image skips the last block of a transformer or ConvNeXt in a training step, falling evenly to 0 at the first block; 0 for none")
	fl.StringVar(&f.inputNorm, "input-norm", "", "normalization of rows of features: "+strings.Join(backbone.RowNorms(), ", ")+" (as they are, each row to length sqrt(dim), each coordinate to mean 0 and deviation 1 over the training rows)")
	fl.StringVar((*string)(&f.spec.HeadNorm), "head-norm", string(start.HeadNorm), "normalization before each linear layer of the head: "+strings.Join(model.HeadNorms(), ", "))
	fl.IntVar(&f.spec.Dim, "dim", start.Dim, "length of an embedding; 0 for the pooled features, without a linear layer")
	fl.StringVar(&f.metric, "metric", start.Metric.String(), "how embeddings are compared")
	fl.StringVar((*string)(&f.spec.Normalization), "normalization", string(start.Normalization), "normalization of embeddings before the metric: "+strings.Join(model.Normalizations(), ", "))
	fl.StringVar(&f.scale, "scale", strconv.FormatFloat(start.Scale, 'g', -1, 64), "scale c of normalized embeddings: rows get length c*sqrt(dim) for brm, c for other metrics; for brm also learn, learn-each (one for each coordinate), learn:C to start at C, or C..C from the first epoch to the last")
}

// settings adds to s what the flags of fl say that places knows, and what stands
// in more.
func (f *networkFlags) settings(s *run.Settings, fl *pflag.FlagSet, places map[string]string, more ...run.Setting) error {
	list := more
	fl.Visit(func(flag *pflag.Flag) {
		if place, ok := places[flag.Name]; ok {
			list = append(list, run.Setting{Path: place, Value: flag.Value.String(), Source: "--" + flag.Name})
		}
	})
	if fl.Changed("scale") {
		c, scaling, err := model.ParseScale(f.scale)
		if err != nil {
			return fmt.Errorf("--scale: %w", err)
		}
		list = append(list, run.Setting{Path: "model.scale", Value: c, Source: "--scale"}, run.Setting{Path: "model.scaling", Value: string(scaling), Source: "--scale"})
	}
	if err := s.Add(list...); err != nil || f.trunkEnd == "" && f.inputNorm == "" {
		return err
	}
	spec, err := s.Backbone()
	if err != nil {
		return err
	}
	if f.inputNorm != "" {
		return s.Add(run.Setting{Path: "model.backbone", Value: backbone.WithOption(spec, "norm", f.inputNorm), Source: "--input-norm"})
	}
	return s.Add(run.Setting{Path: "model.backbone", Value: backbone.WithOption(spec, "trunk-end", f.trunkEnd), Source: "--trunk-end"})
}

// flowHelp explains --flow.
func flowHelp() string {
	var b strings.Builder
	b.WriteString(`

--flow adds geometry flow layers (Li et al. 2023) to a convolutional network: in
training, images of a batch that are near each other pull each other's features
together behind the convolutions after=2 (the first two) or after=NAME+NAME
(by the names of their weights). Recall@K is of each image alone, without the
layers; eval shows besides what whole batches give. Options, with defaults:
`)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, o := range layers.FlowOptions() {
		fmt.Fprintf(t, "  %s=%s\t%s\t%s\n", o.Name, o.Default, o.Values, o.Meaning)
	}
	if err := t.Flush(); err != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n")
}
