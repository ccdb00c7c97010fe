package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/train"
)

// selectionFlags choose a run's model and images; eval and export share them.
type selectionFlags struct {
	epoch   string
	threads int
	cache   cacheFlags
	sel     train.Selection
}

func (f *selectionFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.epoch, "epoch", "best", "which model of the run: best or last")
	fl.StringVar(&f.sel.Split, "split", "test", "which of the run's images: "+strings.Join(train.Splits, ", "))
	fl.StringVar(&f.sel.Data, "data", "", "all images of another data set instead")
	f.cache.add(fl, "store no prepared pictures; changes no result")
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.sel.Workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

func (f *selectionFlags) complete(cmd *cobra.Command, log *logrus.Logger) error {
	if f.epoch != "best" && f.epoch != "last" {
		return usagef("--epoch %q: there is best and last", f.epoch)
	}
	if f.sel.Data != "" && cmd.Flags().Changed("split") {
		return usagef("--split chooses among the run's own images and cannot be given with --data")
	}
	if err := oneOf("--split", f.sel.Split, train.Splits); err != nil {
		return err
	}
	f.sel.Last = f.epoch == "last"
	f.sel.Events = newReporter(log)
	f.sel.Cache = f.cache.options()
	return nil
}

// oneOf refuses a value that is not in the list.
func oneOf(flag, value string, allowed []string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return usagef("%s %q: there is %s", flag, value, strings.Join(allowed, ", "))
}

func newEval(log *logrus.Logger) *cobra.Command {
	f := &selectionFlags{}
	var asJSON bool
	var ks, ties string
	var restarts int
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Measure a trained metric beside raw pixels and the untrained network",
		Long: `Embed the images of a run's test classes, which training never saw, and print
Recall@K, NMI and pairwise F1 by the model's own metric, beside raw pixels (by
cosine) and the network before training.

Recall@K is the share of images with another image of their class among the K
nearest, in percent. NMI (0 to 1, arithmetic mean of entropies) and F1 are of
k-means with as many clusters as there are classes, averaged over restarts.`,
		Example: `  vernier eval runs/glyphs
  vernier eval runs/glyphs --epoch last --k 1,10,100 --json
  vernier eval runs/glyphs --data folder:other.zip`,
		Args: takes(false, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.complete(cmd, log); err != nil {
				return err
			}
			opt := train.MeasureOptions{Selection: f.sel, Restarts: restarts}
			var err error
			if opt.Ks, err = parseKs(ks); err != nil {
				return err
			}
			if opt.Ties, err = eval.ParseTieRule(ties); err != nil {
				return usagef("--ties: %w", err)
			}
			if restarts < 1 {
				return usagef("--restarts %d: at least 1", restarts)
			}
			folder, err := train.Open(args[0])
			if err != nil {
				return err
			}
			eng, err := newEngine(f.threads)
			if err != nil {
				return err
			}
			defer eng.Close()
			emb, r, err := train.Measure(cmd.Context(), folder, eng, opt)
			if err != nil {
				return err
			}
			defer emb.Close()
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(r)
			}
			return printResults(cmd.OutOrStdout(), r)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print all figures as JSON, as results.json has them")
	cmd.Flags().StringVar(&ks, "k", "1,2,4,8", "the K of Recall@K, separated by commas")
	cmd.Flags().StringVar(&ties, "ties", eval.TieRule(0).String(), "order among equal distances: pessimistic (other classes first), optimistic, index or random")
	cmd.Flags().IntVar(&restarts, "restarts", 20, "of k-means, averaged")
	return cmd
}

func parseKs(text string) ([]int, error) {
	var ks []int
	for _, w := range strings.Split(text, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || k < 1 {
			return nil, usagef("--k %q: want whole numbers from 1 on, separated by commas", text)
		}
		ks = append(ks, k)
	}
	return ks, nil
}

// printResults writes a table a person can read.
func printResults(w io.Writer, r *train.Results) error {
	m := r.Model
	fmt.Fprintf(w, "%s: %d queries of %d classes (%s), model of epoch %d\n\n", r.Data, m.Queries, m.Classes, m.Split, r.Epoch)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range m.Recall {
		fmt.Fprintf(t, "R@%d\t", k.K)
	}
	fmt.Fprintln(t, "MAP@R\tNMI\tF1\t  distance")
	for _, row := range []struct {
		name string
		f    *eval.Figures
	}{{"model", r.Model}, {"untrained network", r.Untrained}, {"raw pixels", r.RawPixels}} {
		fmt.Fprintf(t, "%s\t", row.name)
		for _, k := range row.f.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%.1f\t%s\t%s\t  %s\n", 100*row.f.MAPAtR, share(row.f.NMI), share(row.f.F1), row.f.Distance)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRecall@K and MAP@R in percent; ties %s", m.Ties)
	if c := m.Clustering; c != nil {
		fmt.Fprintf(w, "; NMI and F1 from %d runs of k-means with %d clusters", c.Restarts, c.Clusters)
	}
	if m.LoneQueries > 0 {
		fmt.Fprintf(w, "; %d queries have no other image of their class and count as misses", m.LoneQueries)
	}
	_, err := fmt.Fprintln(w)
	return err
}

func share(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}
