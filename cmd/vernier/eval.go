package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/probing"
	"github.com/vernier-ml/vernier/cmd/internal/rowfiles"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// selectionFlags choose a run's model and images; eval and export share them.
type selectionFlags struct {
	epoch   string
	threads int
	device  cli.DeviceFlags
	cache   cli.CacheFlags
	sel     run.Selection
	ranks   cli.RankFlags // of those that several processes share
}

func (f *selectionFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.epoch, "epoch", "best", epochHelp)
	fl.StringVar(&f.sel.Split, "split", "test", "which of the run's images: "+strings.Join(run.Splits(), ", "))
	fl.StringVar(&f.sel.Data, "data", "", "another data set instead: all its images, or with --split that part of it (for a set that has moved)")
	fl.IntVar(&f.sel.MaxBad, "max-bad", 0, maxBadHelp)
	f.cache.Add(fl, "store no prepared pictures; changes no result")
	f.device.Add(fl)
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores)")
	fl.IntVar(&f.sel.Workers, "workers", 0, "goroutines that prepare images (default one a core)")
}

func (f *selectionFlags) complete(cmd *cobra.Command, log *logrus.Logger) {
	if f.sel.Data != "" && !cmd.Flags().Changed("split") {
		f.sel.Split = "" // all of it
	}
	f.sel.Choice = run.Choice(f.epoch)
	f.sel.Events = newReporter(log)
	f.sel.Cache = f.cache.Options()
}

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

--knn and --probe measure without classes of their own for testing, as learning without
labels is measured: of every class --bank-share of the images, drawn by the seed, are a
bank, and the others are classified by the votes of their nearest images of the bank
(plain, and weighted by exp(s/0.07), s being the similarity) and by a linear classifier
that was fitted to the bank (on standardized coordinates, as scikit-learn's
LogisticRegression with C = 1). Where --data is a set whose own split divides the images of
every class, its training part is the bank and its test part are the queries; with
--embeddings and --gallery the gallery is the bank. Alignment and uniformity (Wang and
Isola 2020) are of rows at length 1; smaller is better.

Without a RUN, --backbone and --data measure a network as it is before training,
from --weights as a rule: by cosine and without a linear layer, if nothing else is
asked for, on the classes that --train-classes leaves for testing. RUN may be a model
file that stands alone, as best.safetensors of a run copied elsewhere, with --data.

` + embeddingsHelp + "\n" + groupHelp + "\n" + networkHelp,
		Example: `  vernier eval runs/glyphs
  vernier eval runs/glyphs --epoch last --k 1,10,100 --json
  vernier eval runs/glyphs --data folder:other.zip
  vernier eval birds.safetensors --data folder:photos
  vernier eval runs/glyphs --per-class=classes.csv --super-classes orders.csv --center metric
  vernier eval runs/glyphs --data folder:labeled --knn 1,20 --probe
  vernier eval --embeddings clip.npy --labels classes.txt --metric cosine
  vernier eval --embeddings a.npy,b.npy --labels y.npy --json
  vernier eval --embeddings query.npz --gallery gallery.npz --groups camera --gallery-groups camera
  vernier eval --backbone inceptionv3:pixels=unit --trunk-end Mixed_7a --weights inception_v3.safetensors --size 227 --resize 227 --data folder:birds.zip`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := f.group.checkArgs(args); err != nil {
				return err
			}
			if err := f.rows.Check(cmd, args, withEmbeddings...); err != nil {
				return err
			}
			switch {
			case len(args) > 0:
				return cli.Takes(false, "RUN")(cmd, args)
			case f.network.spec.Backbone == "" && f.rows.Embeddings == "":
				return cli.Usagef("RUN is missing; or give --backbone and --data, to measure a network before training, or --embeddings, to measure rows of another program")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ranks.Run(cmd, log, func(ranks comm.Comm) error {
				f.sel.Comm = ranks
				return f.run(cmd, args, log)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// evalFlags are the flags of eval.
type evalFlags struct {
	selectionFlags
	rows         rowfiles.Flags
	network      networkFlags
	networkOnly  *pflag.FlagSet // what makes sense without a RUN only
	trainClasses string
	seed         uint64
	asJSON       bool
	flow         string
	flowBatch    int
	ks, ties     string
	center       string
	group        groupFlags
	restarts     int
	rerank       []string
	probing      probing.Flags
}

func (f *evalFlags) add(cmd *cobra.Command) {
	f.selectionFlags.add(cmd)
	fl := cmd.Flags()
	f.ranks.Add(fl)
	fl.BoolVar(&f.asJSON, "json", false, "print all figures as JSON, as results.json has them")
	fl.StringVar(&f.ks, "k", "1,2,4,8", "values of K of Recall@K, separated by commas")
	fl.StringVar(&f.ties, "ties", eval.TieRule(0).String(), "order among equal distances: pessimistic (other classes first), optimistic, index or random")
	fl.StringVar(&f.flow, "flow", "", "also measure batches of images that geometry flow mixes, as train --flow has it, with a model trained without or with another")
	fl.IntVar(&f.flowBatch, "flow-batch", 0, "how many images geometry flow mixes (default the batch of training)")
	fl.IntVar(&f.restarts, "restarts", 20, "restarts of k-means, over which its figures are averaged")
	addRerank(fl, &f.rerank)
	f.probing.Add(fl)
	fl.StringVar(&f.center, "center", eval.CenterMean.String(), "center of a cluster of k-means: mean, or metric for BRM's own")
	f.group.add(fl)
	f.rows.AddSeveral(fl)
	start := run.Default("").Model
	start.Backbone, start.Dim, start.Metric = "", 0, metric.Metric{Kind: metric.Cosine}
	addCrops(fl, &f.sel.Crops)
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
	if opt.Center, err = eval.ParseCenterRule(f.center); err != nil {
		return fmt.Errorf("--center: %w", err)
	}
	if opt.Rerank, err = parseRerank(f.rerank); err != nil {
		return err
	}
	if opt.Probe, err = f.probing.Options(cmd.Flags(), parseKs); err != nil {
		return err
	}
	if err := f.group.complete(&opt, &f.sel); err != nil {
		return err
	}
	if f.rows.Embeddings != "" {
		return f.measureRows(cmd, log, opt)
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
	if f.sel.Comm.Rank() > 0 {
		return nil
	}
	if err := f.group.write(r, log); err != nil {
		return err
	}
	if f.asJSON {
		return cli.WriteJSON(cmd.OutOrStdout(), r)
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
			wrong = cli.Usagef("--%s cannot be given with a RUN, which has its own", fl.Name)
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	if run.IsModelFile(path) {
		return f.measureFile(cmd, path, log, opt)
	}
	f.complete(cmd, log)
	folder, eng, err := f.device.OpenRun(path, f.threads, log)
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

// measureFile measures a model from a file that stands alone.
func (f *evalFlags) measureFile(cmd *cobra.Command, path string, log *logrus.Logger, opt run.MeasureOptions) (*run.Results, error) {
	switch {
	case cmd.Flags().Changed("epoch"):
		return nil, cli.Usagef("--epoch chooses a model of a RUN; %s is a file of one model", path)
	case f.sel.Data == "":
		return nil, cli.Usagef("--data is missing: %s is a model file, which does not name the data of its run: say what to measure on, for example --data folder:PATH", path)
	}
	f.complete(cmd, log)
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	opt.Selection = f.sel
	r, err := run.MeasureModelFile(cmd.Context(), path, eng, opt)
	if err == nil {
		log.Warnf("%s does not say what it was trained on: these are figures of unseen classes only if none of them was", path)
	}
	return r, err
}

// measureNetwork measures a network that no run has trained.
func (f *evalFlags) measureNetwork(cmd *cobra.Command, log *logrus.Logger, opt run.MeasureOptions) (*run.Results, error) {
	if cmd.Flags().Changed("epoch") {
		return nil, cli.Usagef("--epoch chooses a model of a RUN, which is missing")
	}
	spec := f.sel.Data
	if spec == "" {
		return nil, cli.Usagef("--data is missing: say which images to measure on, for example --data folder:PATH")
	}
	f.sel.Data = "" // its test classes, not all
	f.complete(cmd, log)
	settings := &run.Settings{}
	if err := settings.Add(run.Setting{Path: "model.dim", Value: 0}, run.Setting{Path: "model.metric", Value: "cosine"}); err != nil {
		return nil, err
	}
	more := []run.Setting{{Path: "data.spec", Value: spec, Source: "--data"}, {Path: "data.validation", Value: 0.}}
	if f.cache.Off {
		more = append(more, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	places := map[string]string{"train-classes": "data.train_classes", "seed": "seed"}
	maps.Copy(places, networkPlaces)
	if err := f.network.settings(settings, cmd.Flags(), places, more...); err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	cfg, err := settings.Config()
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	eng, err := f.device.Open(f.threads, log)
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
	maxNeighbors = 1_000_000
	maxKs        = 100
)

func parseKs(text string) ([]int, error) {
	var ks []int
	for _, w := range strings.Split(text, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(w))
		if errors.Is(err, strconv.ErrRange) && k > 0 || k > maxNeighbors {
			return nil, fmt.Errorf("must be at most %d", maxNeighbors)
		}
		if err != nil || k < 1 {
			return nil, errors.New("want whole numbers from 1 on, separated by commas")
		}
		if slices.Contains(ks, k) {
			return nil, fmt.Errorf("%d is there twice", k)
		}
		if ks = append(ks, k); len(ks) > maxKs {
			return nil, fmt.Errorf("must be at most %d numbers", maxKs)
		}
	}
	return ks, nil
}
