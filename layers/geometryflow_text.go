package layers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// flowOption is a setting of FlowSpec by name, for flags and files.
type flowOption struct {
	name, values, meaning string
	get                   func(f *FlowSpec) string
	set                   func(f *FlowSpec, value string) bool
}

// flowOptions is the table of settings.
func flowOptions() []flowOption {
	return []flowOption{
		flowNumber("lambda", "NUMBER", "strength; 0 is the identity", func(f *FlowSpec) *float64 { return &f.Lambda }),
		flowNumber("delta", "NUMBER", "how far apart neighbors may be, in the normalized distance", func(f *FlowSpec) *float64 { return &f.Delta }),
		{"distance", strings.Join(FlowDistances(), "|"), "what a distance is divided by: the batch's mean or largest, the root of an image's size, nothing",
			func(f *FlowSpec) string { return string(f.Distance) },
			func(f *FlowSpec, v string) bool {
				f.Distance = FlowDistance(v)
				return slices.Contains(FlowDistances(), v)
			}},
		flowChoice("curvature", "false", "true", "off is plain Laplacian smoothing", func(f *FlowSpec) *bool { return &f.Curvature }),
		{"eps", "auto|NUMBER", "factor of the curvature; auto is 2/(pi C)",
			func(f *FlowSpec) string {
				if f.Eps == 0 {
					return "auto"
				}
				return shortest(f.Eps)
			},
			func(f *FlowSpec, v string) bool {
				if v == "auto" {
					f.Eps = 0
					return true
				}
				x, err := strconv.ParseFloat(v, 64)
				f.Eps = x
				return err == nil && x > 0
			}},
		flowChoice("curvature-distance", "normalized", "euclidean", "what an angle is divided by", func(f *FlowSpec) *bool { return &f.Raw }),
		{"components", "N", "principal vectors of a neighborhood",
			func(f *FlowSpec) string { return strconv.Itoa(f.Components) },
			func(f *FlowSpec, v string) bool {
				x, err := strconv.Atoi(v)
				f.Components = x
				return err == nil
			}},
		flowNumber("variance", "SHARE", "as many of them as hold this share of the variance; 0 for the fixed number", func(f *FlowSpec) *float64 { return &f.Variance }),
		flowChoice("own", "include", "exclude", "the image in its own neighborhood", func(f *FlowSpec) *bool { return &f.Alone }),
		flowChoice("empty", "flat", "orthogonal", "the angle where a neighborhood has no direction: 0 or a right one", func(f *FlowSpec) *bool { return &f.Orthogonal }),
		flowChoice("negative", "zero", "keep", "weights that strong curvature brings below 0", func(f *FlowSpec) *bool { return &f.Negative }),
		flowChoice("weights-gradient", "none", "full", "constant weights in the backward pass, or a gradient through them", func(f *FlowSpec) *bool { return &f.Full }),
	}
}

func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func flowNumber(name, values, meaning string, at func(f *FlowSpec) *float64) flowOption {
	return flowOption{name, values, meaning,
		func(f *FlowSpec) string { return shortest(*at(f)) },
		func(f *FlowSpec, v string) bool {
			x, err := strconv.ParseFloat(v, 64)
			*at(f) = x
			return err == nil
		}}
}

func flowChoice(name, no, yes, meaning string, at func(f *FlowSpec) *bool) flowOption {
	return flowOption{name, no + "|" + yes, meaning,
		func(f *FlowSpec) string {
			if *at(f) {
				return yes
			}
			return no
		},
		func(f *FlowSpec, v string) bool {
			*at(f) = v == yes
			return v == yes || v == no
		}}
}

// Set sets an option by name.
func (f *FlowSpec) Set(name, value string) error {
	for _, o := range flowOptions() {
		if o.name != name {
			continue
		}
		if !o.set(f, value) {
			return fmt.Errorf("%s=%s, want %s", name, value, o.values)
		}
		return nil
	}
	return fmt.Errorf("unknown option %q", name)
}

// String lists every option as name=value, separated by commas.
func (f FlowSpec) String() string {
	var list []string
	for _, o := range flowOptions() {
		list = append(list, o.name+"="+o.get(&f))
	}
	return strings.Join(list, ",")
}

// FlowOption describes an option for users.
type FlowOption struct{ Name, Values, Default, Meaning string }

// FlowOptions lists the options of Set.
func FlowOptions() []FlowOption {
	var list []FlowOption
	f := DefaultFlow()
	for _, o := range flowOptions() {
		list = append(list, FlowOption{o.name, o.values, o.get(&f), o.meaning})
	}
	return list
}
