package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/metric"
)

func newMetrics() *cobra.Command {
	scale, asJSON := 1.0, false
	cmd := &cobra.Command{
		Use:   "metrics [NAME]",
		Short: "List metrics, or the options and values of one",
		Long: `List the metrics that train --metric knows; or say of one, which may have options
after a colon, how it is defined, which options there are, and what its values
are between embeddings at an embedding scale.`,
		Example: `  vernier metrics
  vernier metrics brm:tanh,p=1 --scale 2
  vernier metrics poincare --json`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				var all []metricValues
				for _, info := range metric.Infos() {
					all = append(all, valuesOf(info.Metric, scale))
				}
				if asJSON {
					return cli.WriteJSON(out, all)
				}
				return listMetrics(out, all)
			}
			m, err := metric.Parse(args[0])
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			if asJSON {
				return cli.WriteJSON(out, valuesOf(m, scale))
			}
			return describeMetric(out, valuesOf(m, scale), scale)
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", scale, "the embedding scale c, as in train --scale")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// metricValues is what there is to say of a metric at a scale.
type metricValues struct {
	Metric     metric.Metric   `json:"metric"`
	Meaning    string          `json:"meaning"`
	Formula    string          `json:"formula"`
	Source     string          `json:"source"`
	Similarity bool            `json:"similarity"` // larger is closer
	Symmetric  bool            `json:"symmetric"`
	Bound      *float64        `json:"bound"` // null for none
	D0         float64         `json:"d0"`    // between unrelated embeddings
	Options    []metric.Option `json:"options,omitempty"`
	// Sphere holds values between embeddings by their distance on the unit sphere.
	Sphere []sphereValue `json:"sphere"`
}

type sphereValue struct {
	Chord float64 `json:"chord"`
	Value float64 `json:"value"`
}

func valuesOf(m metric.Metric, scale float64) metricValues {
	info := metric.Infos()[m.Kind]
	v := metricValues{
		Metric: m, Meaning: info.Meaning, Formula: info.Formula, Source: info.Source, Options: info.Options,
		Similarity: m.Similarity(), Symmetric: m.Symmetric(), D0: m.UnrelatedValue(scale),
	}
	if b := m.Bound(); !math.IsInf(b, 0) {
		v.Bound = &b
	}
	for _, chord := range []float64{0, .25, .5, 1, math.Sqrt2, 2} {
		v.Sphere = append(v.Sphere, sphereValue{chord, m.SphereValue(chord, scale)})
	}
	return v
}

func (v metricValues) direction() string {
	if v.Similarity {
		return "similarity"
	}
	return "distance"
}

func (v metricValues) bound() string {
	if v.Bound == nil {
		return "none"
	}
	return digits(*v.Bound)
}

// digits writes four digits.
func digits(x float64) string {
	if math.Abs(x) < 1e-12 {
		x = 0 // 1 - (root of 2)^2/2
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func listMetrics(w io.Writer, all []metricValues) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "metric\tis a\tbound B\tD0\tmeaning")
	for _, v := range all {
		fmt.Fprintf(t, "%v\t%s\t%s\t%s\t%s\n", v.Metric.Kind, v.direction(), v.bound(), digits(v.D0), v.Meaning)
	}
	fmt.Fprintln(t, "\nD0 is the value between two unrelated embeddings. vernier metrics NAME says more of one.")
	return t.Flush()
}

func describeMetric(w io.Writer, v metricValues, scale float64) error {
	fmt.Fprintf(w, "%v: %s\n%s\n%s\n%s, bound %s", v.Metric, v.Meaning, v.Formula, v.Source, v.direction(), v.bound())
	if !v.Symmetric {
		fmt.Fprint(w, ", not symmetric")
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(v.Options) > 0 {
		fmt.Fprintln(t, "\noption\tdefault\trange\tmeaning")
		for _, o := range v.Options {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", o.Name, o.Default, o.Range, o.Meaning)
		}
	}
	fmt.Fprintf(t, "\nvalues at scale %v\napart on the unit sphere", scale)
	for _, s := range v.Sphere {
		fmt.Fprintf(t, "\t%s", digits(s.Chord))
	}
	fmt.Fprint(t, "\nvalue")
	for _, s := range v.Sphere {
		fmt.Fprintf(t, "\t%s", digits(s.Value))
	}
	fmt.Fprintf(t, "\nunrelated embeddings (D0)\t%s\n", digits(v.D0))
	return t.Flush()
}
