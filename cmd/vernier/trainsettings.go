package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// trainPlaces says where a flag stands in the configuration, beside those of
// the network.
var trainPlaces = map[string]string{
	"preset": "preset", "data": "data.spec", "labels": "data.labels", "views": "data.views", "train-classes": "data.train_classes", "validation": "data.validation", "augment": "data.augment",
	"max-bad": "data.max_bad", "max-pixels": "data.max_pixels",
	"freeze-bn-stats": "freeze.bn_stats", "freeze-bn-affine": "freeze.bn_affine", "warmup-epochs": "warmup_epochs",
	"save-every": "run.save_every", "keep": "run.keep", "eval-every": "run.eval_every", "tensorboard": "run.tensorboard",
	"freeze-to": "freeze.to", "cache-frozen": "data.cache_frozen",
	"flow": "model.flow", "projection": "model.projection", "projection-norm": "model.projection_norm", "crops": "model.input.crops", "lora": "model.lora.rank", "lora-alpha": "model.lora.alpha", "ema": "ema", "momentum-encoder": "momentum_encoder",
	"pairs": "pairs.file", "pairs-beside": "pairs.beside", "pairs-weight": "pairs.weight", "pairs-per-batch": "pairs.per_batch", "pairs-triplet": "pairs.triplet",
	"loss": "loss.name", "proxy-start": "loss.start", "memory": "loss.memory", "memory-start": "loss.memory_start",
	"optimizer": "optimizer.name", "rate": "optimizer.rate", "head-rate": "optimizer.head_rate", "layer-decay": "optimizer.layer_decay", "proxy-rate": "optimizer.proxy_rate", "scale-rate": "optimizer.scale_rate",
	"head-decay": "optimizer.head_decay", "proxy-decay": "optimizer.proxy_decay", "decay-bias": "optimizer.decay_bias", "decay-norm": "optimizer.decay_norm",
	"decay": "optimizer.decay", "momentum": "optimizer.momentum", "nesterov": "optimizer.nesterov", "eps": "optimizer.eps",
	"clip-norm": "optimizer.clip_norm", "clip-value": "optimizer.clip_value",
	"schedule": "schedule.name", "warmup": "schedule.warmup", "gamma": "schedule.gamma", "rate-every": "schedule.every",
	"milestones": "schedule.milestones", "schedule-unit": "schedule.unit",
	"epochs": "epochs", "steps": "steps", "sampler": "sampler", "batch-size": "batch_size", "micro-batch": "micro_batch", "recompute": "run.recompute",
	"classes-per-batch": "classes_per_batch", "images-per-class": "images_per_class", "seed": "seed",
}

// settings are the configuration file, the flags and --set, one over the other.
func (f *trainFlags) settings(fl *pflag.FlagSet) (*run.Settings, error) {
	s := &run.Settings{}
	if err := cli.AddConfig(s, f.config); err != nil {
		return nil, err
	}
	more, err := f.listed(fl)
	if err != nil {
		return nil, err
	}
	places := maps.Clone(networkPlaces)
	maps.Copy(places, trainPlaces)
	if f.labels == "" && !fl.Changed("labels") && f.config == "" && unlabeledFolder(f.cfg.Data.Spec) {
		f.noClasses = f.cfg.Data.Spec + " has images and no folders of classes: training is without labels, as with --labels none"
		more = append(more, run.Setting{Path: "data.labels", Value: run.NoLabels, Source: "--data"})
	}
	if f.labels != "" && f.labels != run.NoLabels {
		delete(places, "labels")
		if !strings.HasPrefix(f.cfg.Data.Spec, "features:") {
			return nil, fmt.Errorf("--labels names the classes of rows: it goes with --data features:PATH; --labels none trains without labels")
		}
		more = append(more, run.Setting{Path: "data.spec", Value: data.JoinFeatures(f.cfg.Data.Spec, f.labels), Source: "--data"})
		delete(places, "data")
	}
	if err := f.network.settings(s, fl, places, more...); err != nil {
		return nil, err
	}
	return s, cli.AddSet(s, f.set)
}

// named puts the flags before an error that a setting of theirs is to blame for.
func (f *trainFlags) named(fl *pflag.FlagSet, err error) error {
	wrong := new(run.SettingError)
	if !errors.As(err, &wrong) {
		return err
	}
	var flags []string
	fl.Visit(func(g *pflag.Flag) {
		place := trainPlaces[g.Name]
		if g.Name == "freeze" {
			place = "freeze.params"
		}
		if place == wrong.Place || strings.HasPrefix(place, wrong.Place+".") {
			flags = append(flags, "--"+g.Name)
		}
	})
	if len(flags) == 0 {
		flags = []string{wrong.Place}
	}
	return fmt.Errorf("%s: %w", strings.Join(flags, ", "), err)
}

// listed are the flags that may be repeated, and what is not one value.
func (f *trainFlags) listed(fl *pflag.FlagSet) (list []run.Setting, err error) {
	params, err := keyValues("--loss-param", f.params)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		list = append(list, run.Setting{Path: "loss.params." + name, Value: params[name], Source: "--loss-param " + name})
	}
	corrupt, err := f.corrupt.settings()
	if err != nil {
		return nil, err
	}
	list = append(list, corrupt...)
	if fl.Changed("term") {
		terms, err := parseTerms(f.terms)
		if err != nil {
			return nil, err
		}
		list = append(list, run.Setting{Path: "loss.terms", Value: terms, Source: "--term"})
	}
	if fl.Changed("queue") {
		if fl.Changed("memory") {
			return nil, errors.New("--queue and --memory are one setting: with --momentum-encoder the memory of earlier batches is its queue; give one of them")
		}
		list = append(list, run.Setting{Path: "loss.memory", Value: f.queue, Source: "--queue"})
	}
	if fl.Changed("decay-all") {
		for _, place := range []string{"optimizer.decay_bias", "optimizer.decay_norm"} {
			list = append(list, run.Setting{Path: place, Value: f.decayAll, Source: "--decay-all"})
		}
	}
	if fl.Changed("freeze") {
		list = append(list, run.Setting{Path: "freeze.params", Value: f.cfg.Freeze.Params, Source: "--freeze"})
	}
	if f.cache.Off {
		list = append(list, run.Setting{Path: "data.shorter", Value: 0, Source: "--no-cache"})
	}
	return list, nil
}

// parseTerms reads name or name:key=value,...
func parseTerms(texts []string) (terms []run.TermConfig, err error) {
	for _, text := range texts {
		name, rest, _ := strings.Cut(text, ":")
		t := run.TermConfig{Name: name}
		if rest != "" {
			if t.Params, err = keyValues("--term", strings.Split(rest, ",")); err != nil {
				return nil, err
			}
		}
		terms = append(terms, t)
	}
	return terms, nil
}

// openStored finds the run to continue with. Settings that are given beside it must
// be its own.
func (f *trainFlags) openStored(cmd *cobra.Command, opt *train.Options) (run.Folder, error) {
	fl := cmd.Flags()
	for _, name := range []string{"out", "force", "print-config", "dry-run"} {
		if fl.Changed(name) {
			return "", cli.Usagef("--%s cannot be given with --resume", name)
		}
	}
	folder, err := run.Open(f.resume)
	if err != nil {
		return "", err
	}
	opt.From = f.from
	stored, err := folder.LoadConfig()
	if err != nil {
		return "", err
	}
	f.cache.Off = false // where pictures come from may change
	given, err := f.settings(fl)
	if err != nil {
		return "", &cli.UsageError{Err: err}
	}
	opt.Given = given
	if stored, err = given.Moved(stored); err != nil {
		return "", err
	}
	diff, err := given.Differences(stored)
	if err != nil {
		return "", &cli.UsageError{Err: err}
	}
	if len(diff) > 0 {
		return "", cli.Usagef("a run continues with the settings it was started with, and these differ:\n  %s\nfor others, more epochs too, begin a new run from its network: vernier train --config %s --weights %s --out NEW with these settings", strings.Join(diff, "\n  "), folder.Path(run.ConfigFile), folder.Path(run.LastFile))
	}
	return folder, nil
}

// complete makes the configuration of the flags.
func (f *trainFlags) complete(fl *pflag.FlagSet) error {
	s, err := f.settings(fl)
	if err != nil {
		return err
	}
	if f.cfg, err = s.Config(); err != nil || f.printConfig {
		return err
	}
	if f.cfg.Data.Spec == "" {
		return errors.New("--data is missing: say which images to train on, for example --data glyphs or --data folder:PATH")
	}
	if fl.Changed("from") {
		return errors.New("--from says where --resume continues; --resume is missing")
	}
	if f.trace > 0 && f.dry != "" {
		return errors.New("--trace and --dry-run exclude each other")
	}
	if f.out == "" && f.dry == "" {
		return errors.New("--out is missing: say where the run's folder goes, for example --out runs/first")
	}
	if f.chosen = s.ChosenByWeights(f.cfg); f.chosen == "" && !fl.Changed("weights") {
		f.chosen = fromNothing(f.cfg)
	}
	return nil
}

// fromNothing says what pre-trained weights are worth, where photographs are to be learned
// without them.
func fromNothing(c run.Config) string {
	kind, _, _ := strings.Cut(c.Data.Spec, ":")
	if c.Weights.Path != "" || !slices.Contains([]string{"folder", "cub200", "cars196", "sop", "inshop"}, kind) {
		return ""
	}
	return "the network starts from nothing: if these are photographs, public weights are worth more than any other setting " +
		"(the guide's birds: Recall@1 44.0 before the first step, 62.9 after six minutes); vernier weights get lists some, --weights NAME takes one"
}

// keyValues parses name=value pairs.
func keyValues(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("%s %q is not name=value", flag, p)
		}
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("%s %s is given twice", flag, k)
		}
		m[k] = v
	}
	return m, nil
}

// unlabeledFolder reports whether a data set is a folder of image files in which there is
// no folder that could be a class's.
func unlabeledFolder(spec string) bool {
	path, ok := strings.CutPrefix(spec, "folder:")
	if !ok {
		return false
	}
	files, err := os.ReadDir(home.Expand(path))
	return err == nil && len(files) > 0 && !slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.IsDir() || f.Type()&os.ModeSymlink != 0 })
}
