package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
)

func newPresets() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "presets [NAME]",
		Short: "List recipes, or show one with its figures and settings",
		Long: `List the recipes that vernier train --preset takes, with the Recall@1 that is
reported for each. Those named own- are ours: nobody reports figures for them. With a NAME: the publication, every figure with the
place where it is reported, what the publication leaves open, and every effective
setting, as --config takes them.

Figures marked quoted are as other authors report them.`,
		Example: `  vernier presets
  vernier presets brm-n-cub-512
  vernier train --preset proxy-anchor-cub --data cub200:CUB_200_2011.tgz --weights bn_inception-52deb4733.pth --out runs/pa
  vernier train --preset brm-n-cub-512 --backbone convnet --size 32 --data glyphs --classes-per-batch 24 --epochs 5 --out runs/small`,
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			if len(args) > 0 {
				p, err := run.LoadPreset(args[0])
				if err != nil {
					return &cli.UsageError{Err: err}
				}
				return showPreset(w, p, asJSON)
			}
			all, err := run.Presets()
			if err != nil {
				return err
			}
			return listPresets(w, all, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// presetView is a preset as --json prints it.
type presetView struct {
	Name      string          `json:"name"`
	Summary   string          `json:"summary"`
	Data      string          `json:"data"`
	Source    string          `json:"source"`
	Weights   string          `json:"weights"`
	Open      []string        `json:"open,omitempty"`
	Published []run.Published `json:"published"`
	Config    *run.Config     `json:"config,omitempty"`
}

func viewOf(p *run.Preset) presetView {
	return presetView{p.Name, p.Summary, p.Data, p.Source, p.Weights, p.Open, p.Published, nil}
}

func listPresets(w io.Writer, all []run.Preset, asJSON bool) error {
	if asJSON {
		var list []presetView
		for i := range all {
			list = append(list, viewOf(&all[i]))
		}
		return cli.WriteJSON(w, list)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "preset\tdata\treported R@1\trecipe")
	for _, p := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, p.Data, reportedRecall(p.Published), p.Summary)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nvernier presets NAME shows one with its source, figures and settings.\n\nNot here, though publications on BRM compare with them:")
	why := run.NotBuilt()
	for _, name := range slices.Sorted(maps.Keys(why)) {
		if _, err := fmt.Fprintf(w, "  %s\n", why[name]); err != nil {
			return err
		}
	}
	return nil
}

func reportedRecall(list []run.Published) string {
	for _, f := range list {
		if v, ok := f.Recall[1]; ok {
			mark := ""
			if f.Seen == "quoted" {
				mark = " (quoted)"
			}
			return fmt.Sprintf("%.1f%s", v, mark)
		}
	}
	return "-"
}

func showPreset(w io.Writer, p *run.Preset, asJSON bool) error {
	c, err := p.Config()
	if err != nil {
		return err
	}
	if asJSON {
		v := viewOf(p)
		v.Config = &c
		return cli.WriteJSON(w, v)
	}
	fmt.Fprintf(w, "# %s: %s\n# source: %s\n# data: %s\n# weights: %s\n", p.Name, p.Summary, p.Source, p.Data, p.Weights)
	for _, f := range p.Published {
		fmt.Fprintf(w, "# reported (%s, %s): %s\n", f.From, seenText(f.Seen), figuresText(f))
	}
	for _, o := range p.Open {
		fmt.Fprintf(w, "# open: %s\n", o)
	}
	text, err := c.YAML()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// seenText says where figures were read.
func seenText(seen string) string {
	switch seen {
	case "paper":
		return "read in the paper"
	case "repository":
		return "read in the authors' repository"
	}
	return "quoted by others"
}

func figuresText(f run.Published) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(f.Recall)) {
		parts = append(parts, fmt.Sprintf("R@%d %.1f", k, f.Recall[k]))
	}
	if f.NMI > 0 {
		parts = append(parts, fmt.Sprintf("NMI %.3f", f.NMI))
	}
	if f.F1 > 0 {
		parts = append(parts, fmt.Sprintf("F1 %.3f", f.F1))
	}
	return strings.Join(parts, ", ")
}
