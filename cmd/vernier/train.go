package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// trainFlags are the flags of train before they become a configuration.
type trainFlags struct {
	out     string
	force   bool
	resume  string
	threads int
	workers int
	cache   cli.CacheFlags
	network networkFlags
	corrupt corruptFlags
	params  []string
	terms   []string
	set     []string
	config  string // file
	cfg     run.Config

	printConfig bool
	// chosen is a line on the network that the weights chose, or on what weights are worth.
	chosen      string
	dry         string // one of dryRunForms, or empty
	memoryLimit string
	from        string
	decayAll    bool
	labels      string
	queue       int
	noClasses   string // a line on a folder without classes, or empty
	device      cli.DeviceFlags
	trace       int
	ranks       cli.RankFlags
	collectives string
}

func newTrain(log *logrus.Logger) *cobra.Command {
	f := &trainFlags{cfg: run.Default("")}
	cmd := &cobra.Command{
		Use:   "train --data SPEC --out DIR",
		Short: "Train a metric and measure it on classes never seen",
		Long: `Train an embedding on one part of the classes of a data set, choose the best
epoch on validation classes (a part of the training classes), and measure it on
the other classes, which training never sees, beside raw pixels and the
untrained network.

The folder DIR then holds the configuration, the log, the model of the last and
of the best epoch, a checkpoint from which --resume continues, results.json, and
pictures. An interrupted run (Ctrl-C) saves its state first.

Started by mpirun or srun, in a build with MPI, the processes train one model
together, each on a share of every batch: docs/cluster.md.

Settings come from, each over the one before: the defaults, a preset, a
configuration file, flags, --set. --print-config shows what they come to.

A metric is one of those that vernier metrics lists. brm takes a restriction
and more after a colon: brm:tanh,p=1 or brm:isru,omega=0.5,power.

` + networkHelp + flowHelp(),
		Example: `  vernier train --data glyphs --out runs/glyphs
  vernier train --data folder:birds.zip --size 64 --loss proxy-anchor --out runs/birds
  vernier train --data glyphs --metric cosine --loss triplet --loss-param mining=semihard --out runs/cosine
  vernier train --data folder:birds.zip --weights resnet50-v1 --dim 512 --freeze-bn-stats --warmup-epochs 1 --rate 1e-4 --out runs/resnet
  vernier train --data glyphs --config mine.yaml --set optimizer.rate=3e-4 --print-config
  vernier train --resume runs/glyphs`,
		Args: cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.ranks.Run(cmd, log, func(ranks comm.Comm) error { return f.train(cmd, ranks, log) })
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	c := &f.cfg
	fl.StringVar(&c.Data.Spec, "data", "", "data set: glyphs, folder:PATH (one folder a class; PATH may be a .zip, .tar, .tgz or .tar.bz2), or another kind that vernier data list shows")
	fl.StringVar(&f.labels, "labels", "", "beside --data features:X, the file of the rows' classes: .npy of numbers or text, or a .csv with a column label and optionally path, split (train, validation, test) and category; of any images, none: train without labels, on views of each image, and use labels for measuring only (a folder of images without folders of classes has none)")
	fl.IntVar(&c.Data.Views, "views", 0, "with --labels none, views of each image in a batch, drawn by --augment (default 2)")
	fl.StringVar(&c.Pairs.File, "pairs", "", "train on the pairs of images in this CSV `FILE`, with the columns a, b (paths) and same (1 or 0), such as vernier gallery pairs makes of marks; alone, or with --pairs-beside")
	fl.BoolVar(&c.Pairs.Beside, "pairs-beside", false, "train on --pairs beside the loss on labels, or on views with --labels none")
	fl.Float64Var(&c.Pairs.Weight, "pairs-weight", 0, "with --pairs-beside, weight of the loss on pairs (default 1)")
	fl.IntVar(&c.Pairs.PerBatch, "pairs-per-batch", 0, "pairs of --pairs in a batch (default 16)")
	fl.Float64Var(&c.Pairs.Triplet, "pairs-triplet", 0, "weight of triplets in the loss on --pairs, where an image has a same and a different one; 0 for none (default 1)")
	fl.StringVar(&f.out, "out", "", "folder of the run; must not exist")
	fl.BoolVar(&f.force, "force", false, "overwrite an earlier run in --out")
	fl.StringVar(&f.resume, "resume", "", "continue with the run in this folder; beside it --data names another place of the same images, --weights of the same file")
	fl.StringVar(&f.from, "from", "latest", "with --resume, where to continue from: latest, best (epoch), or the number of a kept epoch; what came after it is given up")
	fl.DurationVar((*time.Duration)(&c.Run.SaveEvery), "save-every", time.Duration(c.Run.SaveEvery), "time after which a checkpoint is written within an epoch; 0 for after epochs only")
	fl.IntVar(&c.Run.Keep, "keep", c.Run.Keep, "checkpoints of how many last epochs stay, beside that of the best")
	fl.IntVar(&c.Run.EvalEvery, "eval-every", 0, "epochs after which the test classes are measured too, for curves; they decide nothing; 0 for at the end only")
	fl.BoolVar(&c.Run.TensorBoard, "tensorboard", false, "write event files for TensorBoard into the run's folder: curves, histograms of distances, the embedding")
	fl.StringVar(&c.Preset, "preset", "", "begin with a recipe; vernier presets lists them")
	fl.StringVar(&f.config, "config", "", "YAML file of settings, with the keys that --print-config shows; a run's config.json is one too")
	fl.StringArrayVar(&f.set, "set", nil, "one setting, as KEY=VALUE with a key such as optimizer.rate or loss.params.margin; may be repeated")
	fl.StringVar(&f.dry, "dry-run", "", "say what memory and time the run takes, measured on a few steps, and train nothing: text or json")
	fl.Lookup("dry-run").NoOptDefVal = dryRunForms[0]
	fl.IntVar(&f.trace, "trace", 0, "trace this number of steps, after the first: what their time went to is written into the run's folder, as trace.txt and for a trace viewer as trace.json; changes no result; 0 for none")
	fl.StringVar(&f.memoryLimit, "memory-limit", "", "refuse a run that takes more of the host's memory than this, as in 8GiB (default what is available); a GPU's own is looked at by itself")
	fl.BoolVar(&f.printConfig, "print-config", false, "print every effective setting as YAML, and train nothing")

	fl.StringVar(&c.Data.TrainClasses, "train-classes", c.Data.TrainClasses, "which classes to train on: auto (the published split, or the first half by name), half, 0.7, 100, first:100, random:0.5, published, or a file with one class name a line")
	fl.Float64Var(&c.Data.Validation, "validation", c.Data.Validation, "share of the training classes that chooses the best epoch, where the set has no validation classes of its own; 0 for none")
	fl.StringVar(&c.Data.Augment, "augment", "", "variation of training images: "+strings.Join(transform.Names(), ", ")+" (default characters for glyphs, else photos; with --labels none strokes for glyphs, else simclr; beside --cache-frozen none or flip)")
	fl.IntVar(&c.Data.MaxBad, "max-bad", c.Data.MaxBad, "unreadable images to replace (training) or leave out (test) before giving up")
	fl.Int64Var(&c.Data.MaxPixels, "max-pixels", c.Data.MaxPixels, "refuse pictures with more pixels")

	f.corrupt.add(fl)

	f.cache.Add(fl, "use pictures as they are, decoded from their files every time, instead of prepared ones of a moderate size")

	f.network.add(fl, c.Model)
	fl.IntVar(&c.Model.Input.Crops, "crops", 1, cropsHelp+"; the model remembers it")
	fl.StringVar(&c.Model.Flow, "flow", "", "geometry flow (DRML): \"default\", or what differs, as in lambda=0.3,after=conv1_7x7_s2+conv2_3x3; see below")
	fl.StringVar((*string)(&c.Model.Projection), "projection", "", "layers between embeddings and the loss in training, which are no part of the model, by their widths, as in 2048,128: hidden ones with ReLU, then a linear one (--head mlp:2048 --dim 128 has the same as a part of it)")
	fl.StringVar((*string)(&c.Model.ProjectionNorm), "projection-norm", "", "normalization of the hidden layers of --projection before ReLU: batch (default none)")
	fl.BoolVar(&c.Freeze.BNStats, "freeze-bn-stats", false, "keep the running statistics of the backbone's batch normalizations, and normalize by them")
	fl.BoolVar(&c.Freeze.BNAffine, "freeze-bn-affine", false, "do not train gamma and beta of the backbone's batch normalizations")
	fl.StringArrayVar(&c.Freeze.Params, "freeze", nil, "do not train parameters whose names match, as in patch_embed.* or layer[12].*; may be repeated")
	fl.StringVar(&c.Freeze.To, "freeze-to", "", "do not train the backbone up to this block, nor its batch normalizations' statistics")
	fl.StringVar(&c.Data.CacheFrozen, "cache-frozen", "", "keep the outputs of the blocks up to --freeze-to on disk, as fp16 or fp32, and train on them: pictures are not varied, but the outputs are mirrored (--augment flip)")
	fl.Lookup("cache-frozen").NoOptDefVal = run.FrozenFormats()[0]
	fl.IntVar(&c.Model.LoRA.Rank, "lora", 0, "rank of LoRA: train matrices of this rank beside queries, keys, values and projection of a transformer's attention, and of its own weights none; 0 for none")
	fl.Float64Var(&c.Model.LoRA.Alpha, "lora-alpha", 0, "with --lora, alpha of the factor alpha/rank of what the matrices add (default twice the rank)")
	fl.IntVar(&c.WarmupEpochs, "warmup-epochs", 0, "first epochs, which train the head and the loss's own parameters only")

	fl.StringVar(&c.Loss.Name, "loss", c.Loss.Name, strings.Join(losses.Names(), ", "))
	fl.StringArrayVar(&f.params, "loss-param", nil, "a parameter of the loss, as name=value; may be repeated (vernier losses NAME lists them)")
	fl.StringVar(&c.Loss.Start, "proxy-start", "", "where rows of classes start: means (of their classes) or random (default means)")
	fl.StringArrayVar(&f.terms, "term", nil, "something to add to the loss, as name or name:weight=1,...; may be repeated: "+strings.Join(termNames(), ", ")+", or another loss")
	fl.IntVar(&c.Loss.Memory, "memory", 0, "embeddings of earlier batches to compare a batch with besides itself (cross-batch memory), for losses on pairs; 0 for none")
	fl.IntVar(&c.Loss.MemoryStart, "memory-start", 0, "steps after which the memory begins to fill")

	fl.StringVar(&c.Optimizer.Name, "optimizer", c.Optimizer.Name, strings.Join(optim.Names(), ", "))
	fl.Float64Var(&c.Optimizer.Rate, "rate", c.Optimizer.Rate, "learning rate")
	fl.Float64Var(&c.Optimizer.LayerDecay, "layer-decay", c.Optimizer.LayerDecay, "factor of the learning rate for each block of the backbone that a parameter lies before the head, as in 0.75; 1 for none")
	fl.Float64Var(&c.Optimizer.HeadRate, "head-rate", c.Optimizer.HeadRate, "factor of the learning rate for the head, and for layers that only training needs")
	fl.Float64Var(&c.Optimizer.ProxyRate, "proxy-rate", c.Optimizer.ProxyRate, "factor of the learning rate for the loss's own parameters")
	fl.Float64Var(&c.Optimizer.ScaleRate, "scale-rate", c.Optimizer.ScaleRate, "factor of the learning rate for a learned scale of embeddings")
	fl.Float64Var(&c.Optimizer.Decay, "decay", c.Optimizer.Decay, "weight decay")
	fl.Float64Var(&c.Optimizer.HeadDecay, "head-decay", c.Optimizer.HeadDecay, "factor of the weight decay for the head, and for layers that only training needs")
	fl.Float64Var(&c.Optimizer.ProxyDecay, "proxy-decay", c.Optimizer.ProxyDecay, "factor of the weight decay for the loss's own parameters")
	fl.BoolVar(&c.Optimizer.DecayBias, "decay-bias", c.Optimizer.DecayBias, "apply weight decay to biases, too")
	fl.BoolVar(&c.Optimizer.DecayNorm, "decay-norm", c.Optimizer.DecayNorm, "apply weight decay to gamma and beta of normalizations, too")
	fl.BoolVar(&f.decayAll, "decay-all", false, "apply weight decay to biases and to gamma and beta of normalizations: --decay-bias with --decay-norm")
	fl.Float64Var(&c.Optimizer.Momentum, "momentum", c.Optimizer.Momentum, "momentum of the optimizers sgd and rmsprop")
	fl.BoolVar(&c.Optimizer.Nesterov, "nesterov", c.Optimizer.Nesterov, "use Nesterov momentum in the optimizer sgd")
	fl.Float64Var(&c.Optimizer.Eps, "eps", c.Optimizer.Eps, "epsilon that the optimizers adam, adamw, radam and rmsprop add to the root of the mean square")
	fl.Float64Var(&c.Optimizer.ClipNorm, "clip-norm", c.Optimizer.ClipNorm, "limit of the gradient's norm; 0 for none")
	fl.Float64Var(&c.Optimizer.ClipValue, "clip-value", c.Optimizer.ClipValue, "limit of each gradient element; 0 for none")
	fl.StringVar(&c.Schedule.Name, "schedule", c.Schedule.Name, "schedule of the learning rate: "+strings.Join(optim.Schedules(), ", "))
	fl.IntVar(&c.Schedule.Warmup, "warmup", c.Schedule.Warmup, "steps over which the learning rate rises at first")
	fl.Float64Var(&c.Schedule.Gamma, "gamma", 0, "factor by which the schedules step and multistep multiply the rate")
	fl.IntVar(&c.Schedule.Every, "rate-every", 0, "epochs after which the schedule step lowers the rate")
	fl.IntSliceVar(&c.Schedule.Milestones, "milestones", nil, "epochs after which the schedule multistep lowers the rate, as in 20,40")
	fl.StringVar(&c.Schedule.Unit, "schedule-unit", "", "unit of --rate-every and --milestones: epoch or step (default epoch)")

	fl.Float64Var(&c.EMA, "ema", 0, "decay of an exponential moving average of the weights, as in 0.999, which is measured beside them and may be the best; less in the first steps; 0 for none")
	fl.Float64Var(&c.MomentumEncoder, "momentum-encoder", 0, "momentum with which a copy of the network follows it, as in 0.999 (MoCo): losses on pairs compare embeddings with those of the copy; 0 for none")
	fl.IntVar(&f.queue, "queue", 0, "with --momentum-encoder, embeddings of earlier batches by the copy that a batch is compared with too, as in 4096; the same setting as --memory")
	fl.IntVar(&c.Epochs, "epochs", c.Epochs, "epochs: passes over the training images")
	fl.IntVar(&c.Steps, "steps", 0, "end after this number of steps, whatever --epochs says")
	fl.StringVar(&c.Sampler, "sampler", c.Sampler, "batches of classes times images (balanced), or of images without regard to class (random)")
	fl.IntVar(&c.BatchSize, "batch-size", 0, "images in a batch of the random sampler")
	fl.IntVar(&c.MicroBatch, "micro-batch", 0, "largest number of images that the network sees at once: larger batches take two passes, in bounded memory, with the gradient of the whole where no normalization uses the statistics of a batch (--freeze-bn-stats), else of the parts; 0 for no limit")
	fl.BoolVar(&c.Run.Recompute, "recompute", c.Run.Recompute, "compute blocks of the backbone a second time on the way back instead of keeping what they give (gradient checkpointing): less memory, a step takes up to a third longer, the result is the same to the bit")
	fl.IntVar(&c.ClassesPerBatch, "classes-per-batch", c.ClassesPerBatch, "classes in a batch of the balanced sampler; with --labels none images (then default 64)")
	fl.IntVar(&c.ImagesPerClass, "images-per-class", c.ImagesPerClass, "images of each class in a batch of the balanced sampler; with --labels none --views takes its place")
	fl.Uint64Var(&c.Seed, "seed", c.Seed, "seed of everything that is drawn")
	f.device.Add(fl)
	f.ranks.Add(fl)
	fl.StringVar(&f.collectives, "collectives", train.CollectivesAuto, "under mpirun or srun, how gradients are summed over processes: "+strings.Join(train.Collectives(), ", ")+" (nccl on GPUs, one for each process; host by MPI; auto: nccl where it can be, else host)")
	fl.IntVar(&f.threads, "threads", 0, "threads that compute (default all cores); changes no result")
	fl.IntVar(&f.workers, "workers", 0, "goroutines that prepare images (default one a core); changes no result")
	return cmd
}

func (f *trainFlags) train(cmd *cobra.Command, ranks comm.Comm, log *logrus.Logger) error {
	ctx := cmd.Context()
	opt := train.Options{Workers: f.workers, Events: newReporter(log), Cache: f.cache.Options(), Trace: f.trace}
	opt.Comm = ranks
	folder, err := f.prepare(cmd, &opt)
	if err != nil {
		return err
	}
	if f.printConfig {
		text, err := f.cfg.YAML()
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	for _, line := range []string{f.noClasses, f.chosen} {
		if line != "" {
			log.Info(line)
		}
	}
	if opt.Memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(opt.Memory))
	}
	if f.resume != "" {
		before, err := folder.Engine(f.from)
		if err != nil {
			return err
		}
		f.device.Continue(before)
	}
	eng, err := f.device.Open(f.threads, log)
	if err != nil {
		return err
	}
	defer eng.Close()
	chosen, why, err := train.Connect(ranks, eng, f.collectives, f.ranks.Timeout())
	if err != nil {
		return fmt.Errorf("--collectives %s: %w", f.collectives, err)
	}
	if why != "" {
		log.Warnf("gradients are summed on the host: %s", why)
	} else if ranks.Size() > 1 {
		log.Infof("gradients are summed by %s", chosen)
	}
	var s *train.Session
	switch {
	case f.dry != "":
		return f.named(cmd.Flags(), f.dryRun(cmd, eng, opt))
	case f.resume != "":
		s, err = train.Resume(ctx, folder, eng, opt)
	default:
		s, err = train.Start(ctx, f.cfg, folder, eng, opt)
	}
	if err != nil {
		return f.named(cmd.Flags(), err)
	}
	defer s.Close()
	log.Infof("%s on %s, %s", s.Describe(), eng.Name(), ranks.Name())
	if err := s.Train(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			return &cli.InterruptedError{Hint: fmt.Sprintf("stopped and saved; continue with: vernier train --resume %s", folder), Err: err}
		}
		if diverged := new(train.DivergedError); errors.As(err, &diverged) {
			return err
		}
		if bad := new(data.ImageError); errors.As(err, &bad) {
			return fmt.Errorf("%w\nvernier data check lists all such images of a data set; continue with: vernier train --resume %s --max-bad N, which replaces up to N of them by others of their class%s", err, folder, largerHint(err))
		}
		return fmt.Errorf("%w\nwhat was saved before is whole; once the cause is mended continue with: vernier train --resume %s", err, folder)
	}
	r, err := s.Finish(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return &cli.InterruptedError{Hint: fmt.Sprintf("stopped after the last epoch; measure with: vernier train --resume %s", folder), Err: err}
		}
		if bad := new(data.ImageError); errors.As(err, &bad) {
			return fmt.Errorf("%w\nthe model is trained and saved; vernier data check lists all such images; once they are mended, or with --max-bad N to leave up to N out, measure with: vernier train --resume %s", err, folder)
		}
		return err
	}
	if r == nil { // rank 0 measures
		return nil
	}
	return printResults(cmd.OutOrStdout(), r)
}

// prepare finds out what is to be trained, and where, before anything begins.
func (f *trainFlags) prepare(cmd *cobra.Command, opt *train.Options) (folder run.Folder, err error) {
	if f.dry != "" && comm.OrSingle(opt.Comm).Size() > 1 {
		return "", cli.Usagef("--dry-run measures one process: start it without mpirun or srun")
	}
	if f.memoryLimit != "" {
		if opt.Memory, err = parseBytes(f.memoryLimit); err != nil {
			return "", fmt.Errorf("--memory-limit: %w", err)
		}
	}
	if f.resume != "" {
		return f.openStored(cmd, opt)
	}
	if err := f.complete(cmd.Flags()); err != nil {
		return "", &cli.UsageError{Err: err}
	}
	if f.printConfig || f.dry != "" {
		return "", nil
	}
	// One rank looks: another one may have made the folder since.
	folder, err = comm.FromLead(comm.OrSingle(opt.Comm), func() (run.Folder, error) { return run.Claim(f.out, f.force) })
	switch {
	case errors.Is(err, run.ErrExists) && !f.force:
		return "", cli.Usagef("--out: %w (--force overwrites a run, --resume continues with it)", err)
	case err != nil:
		return "", cli.Usagef("--out: %w", err)
	}
	return folder, nil
}

func termNames() []string {
	var names []string
	for _, t := range slices.Concat(losses.ListTerms(), losses.ListBatchTerms()) {
		names = append(names, t.Name)
	}
	return names
}

// largerHint says what to do about a picture that is too large.
func largerHint(err error) string {
	if errors.Is(err, pixels.ErrTooLarge) {
		return ", or with a larger --max-pixels"
	}
	return ""
}
