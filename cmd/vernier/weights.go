package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

func newWeights(log *logrus.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "weights",
		Short: "Fetch weight files, look into them, convert them, check them against a backbone",
		Long: `Fetch public files of network weights, look into such files, convert them, and check
whether a backbone can start from one. Read are safetensors, PyTorch files (.pth, of today's zip format
and of the older one), TorchScript archives, .npz and .npy; the format is recognized by the content. Nothing
in a file is ever executed.`,
		Example: `  vernier weights get resnet50-v2
  vernier weights inspect resnet50-19c8e357.pth
  vernier weights convert bn_inception-52deb4733.pth bn_inception.safetensors
  vernier weights check resnet50-19c8e357.pth --backbone resnet50`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWeightsGet(log), newWeightsInspect(), newWeightsConvert(), newWeightsCheck())
	return cmd
}

func newWeightsInspect() *cobra.Command {
	var asJSON bool
	var dictionary string
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "List what a weight file holds, and of which network it is",
		Long: `List the tensors of a weight file with their types, shapes and sizes, the format
of the file, its metadata, and what it holds beside tensors. Names and shapes tell of
which network it is, whose names it has, and what pictures that network takes: with
--weights FILE and without --backbone, vernier train chooses the same. Of a file that
fits no network it says which is nearest, and the first differences.`,
		Example: `  vernier weights inspect runs/birds/best.safetensors
  vernier weights inspect checkpoint.pth --json`,
		Args: cli.Takes(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := weights.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			network, err := model.Recognize(args[0], dictionary)
			if asJSON {
				return inspectJSON(cmd.OutOrStdout(), f, network)
			}
			if err := inspect(cmd.OutOrStdout(), f); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), networkText(network, err))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON")
	cmd.Flags().StringVar(&dictionary, "weights-dict", "", weightsDictHelp)
	return cmd
}

// networkText says of which network a file is, or why that is not known.
func networkText(r *model.Recognized, err error) string {
	if err != nil {
		return "network: " + err.Error()
	}
	in := r.Input
	cut := ""
	if in.Resize > in.Size {
		cut = fmt.Sprintf(" cut out of a shorter side of %d", in.Resize)
	}
	filter := "bilinear"
	if in.Bicubic {
		filter = "bicubic"
	}
	if in.Stretch {
		cut = ", stretched to a square"
	}
	return fmt.Sprintf("network: %s\npictures: %d pixels%s, %s, (value/%g - %.3g)/%.3g", r, in.Size, cut, filter, in.Range, in.Mean, in.Std)
}

func inspect(w io.Writer, f *weights.File) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	values, bytes := 0, int64(0)
	for _, x := range f.Tensors() {
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\n", x.Name, x.DType, shapeText(x.Shape), sizeText(x.Size()))
		values += x.Len()
		bytes += x.Size()
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, k := range slices.Sorted(maps.Keys(f.Metadata())) {
		fmt.Fprintf(w, "metadata %s: %s\n", k, f.Metadata()[k])
	}
	for _, k := range slices.Sorted(maps.Keys(f.Values())) {
		fmt.Fprintf(w, "value %s: %s\n", k, shorten(fmt.Sprint(f.Values()[k])))
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s\n", f.Format(), plural.Of(len(f.Tensors()), "tensor"), plural.Of(values, "value"), sizeText(bytes))
	return err
}

// inspectJSON prints the same for programs.
func inspectJSON(w io.Writer, f *weights.File, network *model.Recognized) error {
	type tensor struct {
		Name  string `json:"name"`
		DType string `json:"dtype"`
		Shape []int  `json:"shape"`
		Bytes int64  `json:"bytes"`
	}
	out := struct {
		Format   weights.Format    `json:"format"`
		Tensors  []tensor          `json:"tensors"`
		Metadata map[string]string `json:"metadata"`
		Values   map[string]string `json:"values"`
		Network  *model.Recognized `json:"network"` // null where it is not known
	}{Format: f.Format(), Metadata: f.Metadata(), Tensors: []tensor{}, Values: map[string]string{}, Network: network}
	for _, t := range f.Tensors() {
		out.Tensors = append(out.Tensors, tensor{t.Name, t.DType.String(), append([]int{}, t.Shape...), t.Size()})
	}
	for k, v := range f.Values() {
		out.Values[k] = fmt.Sprint(v)
	}
	return cli.WriteJSON(w, out)
}

func newWeightsConvert() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "convert FROM TO",
		Short: "Write a weight file in another format",
		Long: `Write the tensors of a weight file as safetensors or .npz, as the name of TO ends.
Types stay as they are. A vision transformer in Google's .npz layout is written
under timm's names. What a PyTorch file holds beside tensors is left out.`,
		Example: `  vernier weights convert bn_inception-52deb4733.pth bn_inception.safetensors
  vernier weights convert model.safetensors model.npz`,
		Args: cli.Takes(false, "FROM", "TO"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(args[1]); err == nil && !force {
				return fmt.Errorf("file %s already exists (--force replaces it)", args[1])
			}
			n, err := convert(args[0], args[1])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s to %s\n", plural.Of(n, "tensor"), args[1])
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace TO if it exists")
	return cmd
}

func convert(from, to string) (tensors int, err error) {
	var write func(path string, ts []*weights.Tensor, meta map[string]string) error
	switch filepath.Ext(to) {
	case ".safetensors":
		write = weights.WriteSafetensors
	case ".npz":
		write = func(path string, ts []*weights.Tensor, _ map[string]string) error { return weights.WriteNPZ(path, ts) }
	default:
		return 0, cli.Usagef("%s: a name that ends in .safetensors or .npz is needed", to)
	}
	f, err := weights.Open(from)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if weights.IsGoogleViT(f) {
		if f, err = weights.GoogleViT(f); err != nil {
			return 0, err
		}
	}
	return len(f.Tensors()), write(to, f.Tensors(), f.Metadata())
}

func newWeightsCheck() *cobra.Command {
	var spec, dictionary string
	var size int
	cmd := &cobra.Command{
		Use:   "check FILE --backbone NAME",
		Short: "Say whether a backbone can start from a weight file",
		Long: `Compare names and shapes in a weight file with those of a backbone, as
vernier train --weights does, and read every number. All differences are listed
together, with the nearest name where one is missing; the exit code is then 1.

Cut from names are the prefixes module., model. and backbone., what torch.compile
and sharded training put into them (_orig_mod., _fsdp_wrapped_module. and others),
and any other prefix that all names of the network have; that is said. Ignored are
counters of batch normalization, the classifier of the network that the file was
made for, and blocks after trunk-end. Files of vision transformers may have the names
of timm, torchvision, transformers, DINO, DINOv2, CLIP or OpenCLIP.`,
		Example: `  vernier weights check resnet50-19c8e357.pth --backbone resnet50
  vernier weights check inception_v3.safetensors --backbone inceptionv3:trunk-end=Mixed_7a
  vernier weights check dino_deitsmall16_pretrain.pth --backbone dinos16 --size 256`,
		Args: cli.Takes(false, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if spec == "" {
				return cli.Usagef("--backbone is missing: %s", strings.Join(backbone.Patterns(), ", "))
			}
			s, err := plainSpec(spec, size)
			if err != nil {
				return cli.Usagef("--size %d: %w", size, err)
			}
			eng, err := cli.NewCPU(1)
			if err != nil {
				return err
			}
			defer eng.Close()
			m, err := model.New(eng, s, 0)
			if err != nil {
				return err
			}
			l, err := m.LoadWeights(args[0], dictionary)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s fits %s: %s\n", args[0], spec, loadedText(l))
			return err
		},
	}
	cmd.Flags().StringVar(&spec, "backbone", "", "network: "+strings.Join(backbone.Patterns(), ", "))
	cmd.Flags().StringVar(&dictionary, "weights-dict", "", weightsDictHelp)
	cmd.Flags().IntVar(&size, "size", 0, "side of the images in pixels (default the backbone's)")
	return cmd
}

const weightsDictHelp = "which network of a file that holds several: what stands before its names, such as teacher/ or encoder_q."

// plainSpec is the model that is a backbone and its pooling alone.
func plainSpec(spec string, size int) (model.Spec, error) {
	net, err := backbone.New(spec)
	if err != nil {
		return model.Spec{}, err
	}
	s := model.Spec{
		Backbone: spec, Input: net.Preprocessing(), Pool: model.DefaultPool(net), HeadNorm: model.HeadNormNone, Head: model.HeadNone,
		Dim: net.Channels(), Normalization: model.NormNone, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine},
	}
	if size != 0 {
		s.Input = s.Input.WithSize(size)
	}
	return s, s.Validate()
}

// loadedText says in a line what was taken from a file.
func loadedText(l *model.Loaded) string {
	text := fmt.Sprintf("%s of a %s file", plural.Of(l.Filled, "tensor"), l.Format)
	if l.Layout != "" {
		text += " of " + l.Layout
	}
	if l.Prefix != "" {
		text += ", under " + l.Prefix
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"ignored", l.Ignored}, {"drawn anew", l.Kept}, {"brought to this image size", l.Resized}} {
		if len(part.names) > 0 {
			text += fmt.Sprintf("; %d %s (%s)", len(part.names), part.what, shorten(strings.Join(part.names, ", ")))
		}
	}
	return text
}

// shorten cuts a text to a length for one line.
func shorten(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "scalar"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]")
}

func sizeText(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%d B", bytes)
}
