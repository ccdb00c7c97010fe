package backbone

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Flow puts a geometry flow layer (layers.FlowSpec) behind the activation of
// some convolutions of a convolutional network. A convolution has the name of
// its weights in the checkpoint: conv1_7x7_s2, layer1.0.conv2, block1.conv.
type Flow struct {
	layers.FlowSpec
	// After names the convolutions. If it is empty they are the First ones, in
	// the order in which the network computes them.
	After []string
	First int
}

// flowAfter is the option that FlowSpec does not have.
const flowAfter = "after"

// flowDefault is the text of a Flow with nothing but defaults.
const flowDefault = "default"

// ParseFlow reads "default", or options as name=value separated by commas:
// after=2 (the first two convolutions, the default) or after=NAME+NAME, and those
// of layers.FlowSpec.Set.
func ParseFlow(text string) (*Flow, error) {
	f := &Flow{FlowSpec: layers.DefaultFlow(), First: 2}
	if text == flowDefault {
		return f, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("geometry flow: %q is neither name=value nor %q (options: %s)", part, flowDefault, strings.Join(flowNames(), ", "))
		}
		if seen[name] {
			return nil, fmt.Errorf("geometry flow: %s is given twice", name)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return nil, err
		}
	}
	return f, f.Validate()
}

func (f *Flow) set(name, value string) error {
	if !slices.Contains(flowNames(), name) {
		return fmt.Errorf("geometry flow: unknown option %q (there is: %s)", name, strings.Join(flowNames(), ", "))
	}
	if name != flowAfter {
		if err := f.Set(name, value); err != nil {
			return fmt.Errorf("geometry flow: %w", err)
		}
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		f.First, f.After = 0, strings.Split(value, "+")
		return nil
	}
	if n < 1 {
		return fmt.Errorf("geometry flow: %s=%d, want the number of convolutions, or their names with + between", flowAfter, n)
	}
	f.First, f.After = n, nil
	return nil
}

func flowNames() []string {
	names := []string{flowAfter}
	for _, o := range layers.FlowOptions() {
		names = append(names, o.Name)
	}
	return names
}

// String lists every option, as ParseFlow reads it.
func (f Flow) String() string {
	after := strconv.Itoa(f.First)
	if len(f.After) > 0 {
		after = strings.Join(f.After, "+")
	}
	return flowAfter + "=" + after + "," + f.FlowSpec.String()
}

// chosen reports whether a layer belongs behind convolution conv, number k from 1.
func (f *Flow) chosen(conv string, k int) bool {
	if len(f.After) == 0 {
		return k <= f.First
	}
	return slices.Contains(f.After, conv)
}

// missing complains about convolutions that a network does not have.
func (f *Flow) missing(convs []string) error {
	if len(f.After) == 0 && f.First > len(convs) {
		return fmt.Errorf("%s=%d, the network has %d convolutions", flowAfter, f.First, len(convs))
	}
	for _, name := range f.After {
		if !slices.Contains(convs, name) {
			return fmt.Errorf("%s=%s is no convolution with an activation (there is: %s)", flowAfter, name, strings.Join(convs, ", "))
		}
	}
	return nil
}

// activated ends a convolution and its activation, which made y of x.
func (b *Builder) activated(conv string, x, y *layers.Node) *layers.Node {
	b.convs = append(b.convs, conv)
	if f := b.mode.Flow; f != nil && f.chosen(conv, len(b.convs)) {
		return b.Graph.GeometryFlow(conv+".flow", x, y, f.FlowSpec)
	}
	return y
}
