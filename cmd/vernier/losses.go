package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

func newLosses() *cobra.Command {
	f := struct {
		metric string
		scale  float64
		asJSON bool
	}{metric: metric.Metric{Kind: metric.BRM, P: 2}.String(), scale: 1}
	cmd := &cobra.Command{
		Use:   "losses [NAME]",
		Short: "List losses and terms, or the parameters of one",
		Long: `List the losses that train --loss knows, and the terms that train --term adds to
them; or say of one what its parameters are, with their defaults and ranges for
a metric at an embedding scale.

A margin is a number in the unit of the loss's values, or carries a unit of the
metric: 0.4B is a share of its bound, 0.5D0 of its value between two unrelated
embeddings, 0.7sphere what lies 0.7 apart on the unit sphere.`,
		Example: `  vernier losses
  vernier losses triplet --metric brm:tanh --scale 2
  vernier losses --metric cosine --json`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := metric.Parse(f.metric)
			if err != nil {
				return fmt.Errorf("--metric: %w", err)
			}
			all, err := losses.List(m, f.scale)
			if err != nil {
				return fmt.Errorf("--scale: %w", err)
			}
			terms := slices.Concat(losses.ListTerms(), losses.ListBatchTerms())
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				if f.asJSON {
					return cli.WriteJSON(out, map[string]any{"metric": m, "scale": f.scale, "losses": all, "terms": terms})
				}
				return listLosses(out, all, terms)
			}
			info, term, err := findLoss(args[0], all, terms)
			if err != nil {
				return err
			}
			if f.asJSON {
				return cli.WriteJSON(out, info)
			}
			return describeLoss(out, info, term, m, f.scale)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.metric, "metric", f.metric, "the metric that the loss is to be used with")
	fl.Float64Var(&f.scale, "scale", f.scale, "the embedding scale c, as in train --scale")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func findLoss(name string, all, terms []losses.Info) (info losses.Info, term bool, err error) {
	var names []string
	for i, info := range append(append([]losses.Info{}, all...), terms...) {
		if info.Name == name {
			return info, i >= len(all), nil
		}
		names = append(names, info.Name)
	}
	return info, false, cli.Usagef("unknown loss %q, want one of %s", name, strings.Join(names, ", "))
}

func listLosses(w io.Writer, all, terms []losses.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title   string
		infos   []losses.Info
		columns losses.Columns
	}{
		{"Losses on pairs of a batch", all, losses.Batch},
		{"Losses that compare a batch with classes", all, losses.Classes},
		{"Terms beside a loss (train --term)", terms, losses.Batch},
	} {
		fmt.Fprintln(t, part.title)
		for _, info := range part.infos {
			if info.Columns == part.columns {
				fmt.Fprintf(t, "  %s\t%s\n", info.Name, info.Meaning)
			}
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "vernier losses NAME lists the parameters of one.")
	return t.Flush()
}

func describeLoss(w io.Writer, info losses.Info, term bool, m metric.Metric, scale float64) error {
	fmt.Fprintf(w, "%s: %s\n%s\n", info.Name, info.Meaning, info.Source)
	switch {
	case term:
		fmt.Fprintln(w, "a term beside a loss")
	case info.Layered:
		fmt.Fprintln(w, "adds layers of its own, which only training needs: no model has them")
	case info.Columns == losses.Classes:
		fmt.Fprintln(w, "compares a batch with one or more rows for each class")
	default:
		fmt.Fprintln(w, "compares the embeddings of a batch with each other")
	}
	if len(info.Params) == 0 {
		_, err := fmt.Fprintln(w, "\nno parameters")
		return err
	}
	if term {
		fmt.Fprintln(w)
	} else {
		fmt.Fprintf(w, "\nfor %v at scale %v:\n", m, scale)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "parameter\tdefault\trange\tmeaning")
	margins := false
	for _, p := range info.Params {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, p.Default, p.Range, p.Meaning)
		margins = margins || p.Margin
	}
	if err := t.Flush(); err != nil || !margins {
		return err
	}
	units := "D0 or sphere, as in 0.5D0"
	if b := m.Bound(); b-b == 0 {
		units = "B, D0 or sphere, as in 0.4B"
	}
	_, err := fmt.Fprintf(w, "margins may carry a unit: %s\n", units)
	return err
}

// atMostOne takes one optional name.
func atMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("unexpected argument %q", args[1])
	}
	return nil
}
