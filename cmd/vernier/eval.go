package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// selectionFlags choose a run's model and images; eval and export share them.
type selectionFlags struct {
	epoch   string
	threads int
	device  deviceFlags
	cache   cacheFlags
	sel     run.Selection
}

func (f *selectionFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.epoch, "epoch", "best", "which model of the run: best or last")
	fl.StringVar(&f.sel.Split, "split", "test", "which of the run's images: "+strings.Join(run.Splits(), ", "))
	fl.StringVar(&f.sel.Data, "data", "", "another data set instead: all its images, or with --split that part of it (for a set that has moved)")
	fl.IntVar(&f.sel.MaxBad, "max-bad", 0, maxBadHelp)
	f.cache.add(fl, "store no prepared pictures; changes no result")
	f.device.add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.sel.Workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

func (f *selectionFlags) complete(cmd *cobra.Command, log *logrus.Logger) {
	if f.sel.Data != "" && !cmd.Flags().Changed("split") {
		f.sel.Split = "" // all of it
	}
	f.sel.Last = f.epoch == "last"
	f.sel.Events = newReporter(log)
	f.sel.Cache = f.cache.options()
}

// epochs are the models of a run that can be chosen.
var epochs = []string{"best", "last"}

func newEval(log *logrus.Logger) *cobra.Command {
	f := &evalFlags{}
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Measure a trained metric, or a network that nobody has trained here",
		Long: `Embed the images of a run's test classes, which training never saw, and print
Recall@K, NMI and pairwise F1 by the model's own metric, beside raw pixels (by
cosine) and the network before training.

Recall@K is the share of images with another image of their class among the K
nearest, in percent. NMI (0 to 1, arithmetic mean of entropies) and F1 are of
k-means with as many clusters as there are classes, averaged over restarts.

Without a RUN, --backbone and --data measure a network as it is before training,
from --weights as a rule: by cosine and without a linear layer, if nothing else is
asked for, on the classes that --train-classes leaves for testing.

` + groupHelp + "\n" + networkHelp,
		Example: `  vernier eval runs/glyphs
  vernier eval runs/glyphs --epoch last --k 1,10,100 --json
  vernier eval runs/glyphs --data folder:other.zip
  vernier eval runs/glyphs --per-class=classes.csv --super-classes orders.csv --centre metric
  vernier eval --backbone inceptionv3:pixels=unit --trunk-end Mixed_7a --weights inception_v3.safetensors --size 227 --resize 227 --data folder:birds.zip`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := f.group.checkArgs(args); err != nil {
				return err
			}
			switch {
			case len(args) > 0:
				return takes(false, "RUN")(cmd, args)
			case f.network.spec.Backbone == "":
				return usagef("RUN is missing; or give --backbone and --data, to measure a network before training")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args, log) },
	}
	f.add(cmd)
	return cmd
}

// evalFlags are the flags of eval.
type evalFlags struct {
	selectionFlags
	network      networkFlags
	networkOnly  *pflag.FlagSet // what makes sense without a RUN only
	trainClasses string
	seed         uint64
	asJSON       bool
	flow         string
	flowBatch    int
	ks, ties     string
	centre       string
	group        groupFlags
	restarts     int
}

func (f *evalFlags) add(cmd *cobra.Command) {
	f.selectionFlags.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.asJSON, "json", false, "print all figures as JSON, as results.json has them")
	fl.StringVar(&f.ks, "k", "1,2,4,8", "values of K of Recall@K, separated by commas")
	fl.StringVar(&f.ties, "ties", eval.TieRule(0).String(), "order among equal distances: pessimistic (other classes first), optimistic, index or random")
	fl.StringVar(&f.flow, "flow", "", "also measure batches of images that geometry flow mixes, as train --flow has it, with a model trained without or with another")
	fl.IntVar(&f.flowBatch, "flow-batch", 0, "how many images geometry flow mixes (default the batch of training)")
	fl.IntVar(&f.restarts, "restarts", 20, "restarts of k-means, over which its figures are averaged")
	fl.StringVar(&f.centre, "centre", eval.CentreMean.String(), "center of a cluster of k-means: mean, or metric for BRM's own")
	f.group.add(fl)
	start := run.Default("").Model
	start.Backbone, start.Dim, start.Metric = "", 0, metric.Metric{Kind: metric.Cosine}
	f.networkOnly = pflag.NewFlagSet("network", pflag.ContinueOnError)
	f.network.add(f.networkOnly, start)
	f.networkOnly.StringVar(&f.trainClasses, "train-classes", "auto", "which classes are for training, as in vernier train")
	f.networkOnly.Uint64Var(&f.seed, "seed", 1, "seed of everything that is drawn")
	fl.AddFlagSet(f.networkOnly)
}

func (f *evalFlags) run(cmd *cobra.Command, args []string, log *logrus.Logger) error {
	opt := run.MeasureOptions{Restarts: f.restarts, Flow: f.flow, FlowBatch: f.flowBatch}
	var err error
	if opt.Ks, err = parseKs(f.ks); err != nil {
		return fmt.Errorf("--k: %w", err)
	}
	if opt.Ties, err = eval.ParseTieRule(f.ties); err != nil {
		return fmt.Errorf("--ties: %w", err)
	}
	if opt.Centre, err = eval.ParseCentreRule(f.centre); err != nil {
		return fmt.Errorf("--centre: %w", err)
	}
	if err := f.group.complete(&opt, &f.sel); err != nil {
		return err
	}
	measure := f.measureNetwork
	if len(args) > 0 {
		measure = func(cmd *cobra.Command, log *logrus.Logger, opt run.MeasureOptions) (*run.Results, error) {
			return f.measureRun(cmd, args[0], log, opt)
		}
	}
	r, err := measure(cmd, log, opt)
	if err != nil {
		return err
	}
	warnLargeK(log, "--k", opt.Ks, r.Model.Queries-1, "an image has %s")
	if err := f.group.write(r, log); err != nil {
		return err
	}
	if f.asJSON {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	if err := printResults(cmd.OutOrStdout(), r); err != nil {
		return err
	}
	return f.group.print(cmd.OutOrStdout(), r.Model)
}

func (f *evalFlags) measureRun(cmd *cobra.Command, path string, log *logrus.Logger, opt run.MeasureOptions) (*run.Results, error) {
	var wrong error
	f.networkOnly.VisitAll(func(fl *pflag.Flag) {
		if fl.Changed && wrong == nil {
			wrong = usagef("--%s cannot be given with a RUN, which has its own", fl.Name)
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	f.complete(cmd, log)
	folder, eng, err := f.device.openRun(path, f.threads, log)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	opt.Selection = f.sel
	emb, r, err := run.Measure(cmd.Context(), folder, eng, opt)
	if err != nil {
		return nil, err
	}
	return r, emb.Close()
}

// measureNetwork measures a network that no run has trained.
func (f *evalFlags) measureNetwork(cmd *cobra.Command, log *logrus.Logger, opt run.MeasureOptions) (*run.Results, error) {
	if cmd.Flags().Changed("epoch") {
		return nil, usagef("--epoch chooses a model of a RUN, which is missing")
	}
	spec := f.sel.Data
	if spec == "" {
		return nil, usagef("--data is missing: say which images to measure on, for example --data folder:PATH")
	}
	f.sel.Data = "" // its test classes, not all
	f.complete(cmd, log)
	settings := &run.Settings{}
	if err := settings.Add(run.Setting{Path: "model.dim", Value: 0}, run.Setting{Path: "model.metric", Value: "cosine"}); err != nil {
		return nil, err
	}
	more := []run.Setting{{Path: "data.spec", Value: spec, Source: "--data"}, {Path: "data.validation", Value: 0.}}
	if f.cache.off {
		more = append(more, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	places := map[string]string{"train-classes": "data.train_classes", "seed": "seed"}
	maps.Copy(places, networkPlaces)
	if err := f.network.settings(settings, cmd.Flags(), places, more...); err != nil {
		return nil, &usageError{err}
	}
	cfg, err := settings.Config()
	if err != nil {
		return nil, &usageError{err}
	}
	eng, err := f.device.open(f.threads, log)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	opt.Selection = f.sel
	r, loaded, err := run.MeasureNetwork(cmd.Context(), cfg, eng, opt)
	if err != nil {
		return nil, err
	}
	if loaded != nil {
		log.Infof("%s on %s: %s", cfg.Model.Backbone, eng.Name(), loadedText(loaded))
	} else {
		log.Warnf("without --weights the network is drawn at random")
	}
	return r, nil
}

// warnLargeK says which K are larger than the number of images that can be found.
func warnLargeK(log *logrus.Logger, flag string, ks []int, others int, has string) {
	var large []string
	for _, k := range ks {
		if k >= others && others > 0 {
			large = append(large, strconv.Itoa(k))
		}
	}
	if large != nil {
		log.Warnf("%s %s: "+has+", so that all of them are among the nearest", flag, strings.Join(large, ","), plural.Of(others, "other"))
	}
}

// What --k takes: each number of neighbors costs a bootstrap of its own.
const (
	mostNeighbors = 1_000_000
	mostKs        = 100
)

func parseKs(text string) ([]int, error) {
	var ks []int
	for _, w := range strings.Split(text, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(w))
		if errors.Is(err, strconv.ErrRange) && k > 0 || k > mostNeighbors {
			return nil, fmt.Errorf("must be at most %d", mostNeighbors)
		}
		if err != nil || k < 1 {
			return nil, errors.New("want whole numbers from 1 on, separated by commas")
		}
		if slices.Contains(ks, k) {
			return nil, fmt.Errorf("%d is there twice", k)
		}
		if ks = append(ks, k); len(ks) > mostKs {
			return nil, fmt.Errorf("must be at most %d numbers", mostKs)
		}
	}
	return ks, nil
}

// printResults writes a table a person can read.
func printResults(w io.Writer, r *run.Results) error {
	m := r.Model
	name, state := "model", "before training"
	if r.Epoch > 0 {
		state = fmt.Sprintf("model of epoch %d", r.Epoch)
		if r.Last != nil {
			name = fmt.Sprintf("best epoch, %d", r.Epoch)
		}
	}
	fmt.Fprintf(w, "%s: %s of %s (%s), %s\n\n", r.Data, plural.Of(m.Queries, "query"), plural.Of(m.Classes, "class"), m.Split, state)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, k := range m.Recall {
		fmt.Fprintf(t, "R@%d\t", k.K)
	}
	fmt.Fprintln(t, "MAP@R\tNMI\tF1\t  distance")
	for _, row := range []struct {
		name string
		f    *eval.Figures
	}{{name, r.Model}, {fmt.Sprintf("last epoch, %d", r.LastEpoch), r.Last}, {"before training", r.Untrained}, {"raw pixels", r.RawPixels}} {
		if row.f == nil {
			continue
		}
		fmt.Fprintf(t, "%s\t", row.name)
		for _, k := range row.f.Recall {
			fmt.Fprintf(t, "%.1f\t", k.Percent)
		}
		fmt.Fprintf(t, "%.1f\t%s\t%s\t  %s\n", 100*row.f.MAPAtR, share(row.f.NMI), share(row.f.F1), row.f.Distance)
	}
	printReported(t, m, r.Preset)
	if err := t.Flush(); err != nil {
		return err
	}
	printReportedNotes(w, r.Preset)
	if err := printMixed(w, r.GeometryFlow); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRecall@K and MAP@R in percent; ties %s", m.Ties)
	if c := m.Clustering; c != nil {
		fmt.Fprintf(w, "; NMI and F1 from %s of k-means with %s, centre %s", plural.Of(c.Restarts, "run"), plural.Of(c.Clusters, "cluster"), c.Centre)
	}
	if m.LoneQueries > 0 {
		fmt.Fprintf(w, "; %s without another image of the class: misses", plural.Of(m.LoneQueries, "query"))
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
