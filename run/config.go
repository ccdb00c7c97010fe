package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run/pairs"
)

// Config is every setting that has an effect on what a run computes. It is
// stored in the run folder in full, so that a run says how it was made and can
// be resumed. The number of threads is not in it: it changes nothing but time.
type Config struct {
	// Preset is the recipe that the settings began with; see LoadPreset.
	Preset string `json:"preset,omitempty"`

	Data DataConfig `json:"data"`

	Model   model.Spec    `json:"model"`
	Weights WeightsConfig `json:"weights"`
	Loss    LossConfig    `json:"loss"`
	// Pairs, where it names a file, trains on pairs of images that somebody has marked.
	Pairs PairsConfig `json:"pairs,omitzero"`

	// Freeze says what is not trained.
	Freeze model.Freeze `json:"freeze"`
	// WarmupEpochs are the first ones, which train the head and the loss's own
	// parameters only. Batch normalization works in them as in those after.
	WarmupEpochs int `json:"warmup_epochs"`

	Optimizer optim.Settings `json:"optimizer"`
	Schedule  optim.Schedule `json:"schedule"`

	// EMA, if not 0, is the decay of an exponential moving average of the weights
	// (optim.Average), which is measured and kept beside them.
	EMA float64 `json:"ema,omitempty"`

	// MomentumEncoder, if not 0, is the momentum with which a copy of the network follows it
	// (He et al. 2020, Momentum contrast). Losses on pairs compare embeddings with those of
	// the copy, and the queue is Loss.Memory, which keeps these of earlier batches.
	MomentumEncoder float64 `json:"momentum_encoder,omitempty"`

	Epochs int `json:"epochs"`
	// Steps, if not 0, is the number of steps of a run, and Epochs counts for nothing.
	Steps int `json:"steps,omitempty"`

	// Sampler is one of data.SamplerNames: balanced makes batches of ClassesPerBatch
	// times ImagesPerClass images, random of BatchSize without regard to class, and a
	// sampler that a program registered of BatchSize, or where that is 0 of the former.
	Sampler         string `json:"sampler"`
	ClassesPerBatch int    `json:"classes_per_batch"`
	ImagesPerClass  int    `json:"images_per_class"`
	BatchSize       int    `json:"batch_size,omitempty"`
	// MicroBatch, if not 0, is the largest number of images that the network sees
	// at once; larger batches take two passes.
	MicroBatch int `json:"micro_batch,omitempty"`

	Run Output `json:"run"`

	Seed uint64 `json:"seed"`
}

// Batch is the number of images in a batch, those of marked pairs included.
func (c Config) Batch() int {
	switch {
	case c.Pairs.File == "":
		return c.sampled()
	case !c.Pairs.Beside:
		return 2 * c.Pairs.PerBatch
	}
	return c.sampled() + 2*c.Pairs.PerBatch
}

// sampled is the number of images in a batch of the sampler.
func (c Config) sampled() int {
	if c.bySize() {
		return c.BatchSize
	}
	return c.ClassesPerBatch * c.ImagesPerClass
}

// bySize reports whether BatchSize is the size of a batch.
func (c Config) bySize() bool {
	return c.Sampler == data.SamplerRandom || c.Sampler != data.SamplerBalanced && c.BatchSize != 0
}

// SamplerOptions say which batches the run's sampler is to make.
func (c Config) SamplerOptions() data.SamplerOptions {
	o := data.SamplerOptions{Batch: c.sampled(), Seed: c.Seed}
	if !c.bySize() {
		o.Classes, o.Images = c.ClassesPerBatch, c.ImagesPerClass
	}
	return o
}

// DataConfig says which images are trained on and how they are varied.
type DataConfig struct {
	// Spec is what data.Open takes: "glyphs", "folder:PATH".
	Spec string `json:"spec"`
	// Labels, where it is NoLabels, trains without labels: each image is a class of its
	// own, and a batch has Views views of each of ClassesPerBatch images. Labels of the set
	// are then for measuring only.
	Labels string `json:"labels,omitempty"`
	Views  int    `json:"views,omitempty"`
	// TrainClasses is what data.ParseSplit takes: which classes are trained on.
	// The others are the test classes.
	TrainClasses string `json:"train_classes"`
	// Validation is the share of the training classes that is left out of
	// training and decides which epoch is best, unless the set comes with validation
	// classes of its own, see data.Validation; 0 for none.
	Validation float64 `json:"validation"`
	// Fold, from 1 to Folds, of the training classes takes that share's
	// place: see data.Fold. Folds is 0 for none.
	Folds int `json:"folds,omitempty"`
	Fold  int `json:"fold,omitempty"`
	// Augment is one of transform.Names: a transform.Preset, "flip" for random
	// mirroring alone, "none", or what a program registered.
	Augment string `json:"augment"`
	// CacheFrozen, one of FrozenFormats, keeps the outputs of the blocks that are
	// frozen (Freeze.To) on disk, so that a run computes what comes after them only.
	// Pictures are then the same every time, but for the mirroring of these outputs.
	CacheFrozen string `json:"cache_frozen,omitempty"`
	// Corrupt damages images and labels on purpose.
	Corrupt CorruptConfig `json:"corrupt,omitempty,omitzero"`
	// MaxBad is how many unreadable images an epoch may skip.
	MaxBad int `json:"max_bad"`
	// MaxPixels refuses larger pictures.
	MaxPixels int64 `json:"max_pixels"`
	// Shorter is the shorter side that larger pictures are resized to before
	// anything else, so that they can be kept decoded (data.Prepare); 0 leaves
	// them as they are.
	Shorter int `json:"shorter"`
}

// LossConfig names a loss and what differs from its defaults.
type LossConfig struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params,omitempty"`
	// Effective holds all parameters as the loss has them, defaults included.
	// Start fills it in; it is for the reader.
	Effective map[string]string `json:"effective,omitempty"`
	// Start says where rows of classes start: at the means of their classes
	// (means, the default), or where they are drawn (random).
	Start string `json:"start,omitempty"`
	// Terms are added to the loss: what losses.MakeTerm takes.
	Terms []TermConfig `json:"terms,omitempty"`
	// Memory is the number of embeddings of earlier batches that a batch is
	// compared with besides itself, MemoryStart the number of steps after which
	// the first batch is kept.
	Memory      int `json:"memory,omitempty"`
	MemoryStart int `json:"memory_start,omitempty"`
}

// PairsConfig says how pairs that somebody has marked are trained on, see package pairs.
type PairsConfig struct {
	// File is what pairs.ReadFile reads. Its SHA256 is that of when the run began.
	File   string `json:"file,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Beside adds pairs, and the loss on them with Weight, to the batches and the loss of
	// the configuration. Without it a batch holds pairs alone, and that loss, memory and
	// sampler have no part in the run; terms do.
	Beside bool    `json:"beside,omitempty"`
	Weight float64 `json:"weight,omitempty"`
	// PerBatch is the number of pairs in a batch.
	PerBatch int `json:"per_batch,omitempty"`
	// Triplet is the weight of triplets in the loss on pairs; 0 for none.
	Triplet float64 `json:"triplet,omitempty"`
}

// What pairs are trained with where nothing else is given.
const (
	defaultPairs   = 16
	defaultTriplet = 1
)

// complete fills in what was not given; has reports whether a setting was.
func (p *PairsConfig) complete(has func(place string) bool) {
	if p.File == "" {
		return
	}
	if !has("pairs.per_batch") {
		p.PerBatch = defaultPairs
	}
	if !has("pairs.triplet") {
		p.Triplet = defaultTriplet
	}
	if !has("pairs.weight") && p.Beside {
		p.Weight = 1
	}
}

func (p PairsConfig) validate(memory int) error {
	if p.File == "" {
		if p != (PairsConfig{}) {
			return AtSetting("pairs.file", setting.Errorf("settings of marked pairs are given, and %s is missing", setting.Name("pairs.file")))
		}
		return nil
	}
	switch {
	case p.PerBatch < 1 || p.PerBatch > MaxBatch/2:
		return AtSetting("pairs.per_batch", fmt.Errorf("%d pairs a batch, must be from 1 to %d", p.PerBatch, MaxBatch/2))
	case !(p.Weight >= 0 && p.Weight <= maxPairWeight):
		return AtSetting("pairs.weight", fmt.Errorf("the weight of the loss on pairs is %v, must be from 0 to %g", p.Weight, float64(maxPairWeight)))
	case !p.Beside && p.Weight != 0:
		return AtSetting("pairs.weight", setting.Errorf("a weight of the loss on pairs needs another loss that it stands beside: %s is missing", setting.Name("pairs.beside")))
	case !(p.Triplet >= 0 && p.Triplet <= maxPairWeight):
		return AtSetting("pairs.triplet", fmt.Errorf("the weight of triplets is %v, must be from 0 to %g", p.Triplet, float64(maxPairWeight)))
	case !p.Beside && memory > 0:
		return AtSetting("loss.memory", setting.Errorf("a memory of earlier batches is of the loss on labels or views, which pairs alone do without: leave it out, or give %s", setting.Name("pairs.beside")))
	}
	return nil
}

// marked reports which items of a set are of pairs, nil where there are none, or where the
// file is not the one that the run began with: training says what is wrong.
func (p PairsConfig) marked(set *data.Set) func(item int) bool {
	if p.File == "" {
		return nil
	}
	file, err := pairs.ReadFile(p.File)
	if err != nil {
		return nil
	}
	items := map[int]bool{}
	for _, pair := range file.Find(set).Pairs {
		items[pair.A], items[pair.B] = true, true
	}
	return func(item int) bool { return items[item] }
}

// maxPairWeight bounds weights of the loss on pairs.
const maxPairWeight = 1e6

// TermConfig names a term of the loss and what differs from its defaults.
type TermConfig struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params,omitempty"`
}

// Default returns the settings that work without thought for a data
// specification: a small network trained from scratch with BRM.
func Default(set string) Config {
	spec, _ := model.DefaultSpec("convnet") // which is there
	c := Config{
		Data:            DataConfig{Spec: set, TrainClasses: "auto", Validation: .1, Augment: "photos", MaxPixels: pixels.DefaultMaxPixels},
		Model:           spec,
		Loss:            LossConfig{Name: "npairs"},
		Optimizer:       optim.Default(),
		Schedule:        optim.Schedule{Name: "cosine"},
		Epochs:          20,
		Sampler:         data.SamplerBalanced,
		ClassesPerBatch: 24,
		ImagesPerClass:  4,
		Run:             DefaultOutput(),
		Seed:            1,
	}
	if set == "glyphs" {
		c.Data.Augment = "characters"
	}
	if kind, _, _ := strings.Cut(set, ":"); kind == backbone.FeaturesName {
		c.Model, _ = model.DefaultSpec(backbone.FeaturesName) // which is there
		c.Data.Augment = transform.NoAugmentation
	}
	return c
}

// Validate checks every setting that can be checked without the data, and
// names the one at fault.
func (c Config) Validate() error {
	if c.Data.Spec == "" {
		return fmt.Errorf("no data set is given")
	}
	if err := c.checkBounds(); err != nil {
		return err
	}
	if _, err := data.ParseSplit(c.Data.TrainClasses, c.Seed); err != nil {
		return err
	}
	if !(c.Data.Validation >= 0 && c.Data.Validation < 1) {
		return fmt.Errorf("validation share %v is not within [0, 1)", c.Data.Validation)
	}
	if n, of := c.Data.Fold, c.Data.Folds; of != 0 && (of < 2 || n < 1 || n > of) || of == 0 && n != 0 {
		return fmt.Errorf("validation fold %d of %d: there must be at least 2, numbered from 1", n, of)
	}
	if names := transform.Names(); !slices.Contains(names, c.Data.Augment) {
		return fmt.Errorf("unknown augmentation %q (there is: %s)", c.Data.Augment, strings.Join(names, ", "))
	}
	if c.Data.MaxBad < 0 || c.Data.MaxPixels < 1 {
		return fmt.Errorf("the number of bad images to skip (%d) must not be negative, the pixel limit (%d) must be positive", c.Data.MaxBad, c.Data.MaxPixels)
	}
	if err := c.Data.Corrupt.validate(); err != nil {
		return err
	}
	if c.Data.Shorter < 0 {
		return fmt.Errorf("the shorter side of pictures (%d) must not be negative", c.Data.Shorter)
	}
	if err := c.Model.Validate(); err != nil {
		return err
	}
	if c.TakesRows() && c.Data.Augment != transform.NoAugmentation {
		return fmt.Errorf("augmentation %q varies images, and backbone %s takes rows of numbers: use %q", c.Data.Augment, c.Model.Backbone, transform.NoAugmentation)
	}
	if err := c.validateLabels(); err != nil {
		return err
	}
	if err := c.Pairs.validate(c.Loss.Memory); err != nil {
		return err
	}
	if c.Pairs.File != "" && c.MomentumEncoder > 0 {
		return AtSetting("momentum_encoder", setting.Errorf("pairs of %s are compared with each other, and a momentum encoder compares a batch with what a copy of the network makes: leave out one of them", setting.Name("pairs.file")))
	}
	if err := c.validateLoss(); err != nil {
		return err
	}
	if err := c.Freeze.Validate(); err != nil {
		return err
	}
	if err := c.validateFrozen(); err != nil {
		return err
	}
	if c.WarmupEpochs < 0 || c.WarmupEpochs > 0 && c.WarmupEpochs >= c.Epochs && c.Steps == 0 {
		return fmt.Errorf("%d of %d epochs are for warm-up: there must be one after them", c.WarmupEpochs, c.Epochs)
	}
	if err := c.Optimizer.Validate(); err != nil {
		return err
	}
	if err := c.Schedule.Validate(); err != nil {
		return err
	}
	if !(c.EMA >= 0 && c.EMA < 1) {
		return AtSetting("ema", fmt.Errorf("the decay of the average of weights is %v, must be from 0, for none, to less than 1; 0.99 to 0.9999 are usual", c.EMA))
	}
	if err := c.validateMomentum(); err != nil {
		return err
	}
	if err := c.Run.validate(); err != nil {
		return err
	}
	return c.validateBatch()
}

// validateBatch checks length of the run and size of a batch.
func (c Config) validateBatch() error {
	if names := data.SamplerNames(); !slices.Contains(names, c.Sampler) {
		return fmt.Errorf("unknown sampler %q (there is: %s)", c.Sampler, strings.Join(names, ", "))
	}
	type least struct {
		place    string
		n, least int
	}
	list := []least{{"epochs", c.Epochs, 1}, {"steps", c.Steps, 0}, {"micro_batch", c.MicroBatch, 0}, {"classes_per_batch", c.ClassesPerBatch, 2}, {"images_per_class", c.ImagesPerClass, 2}}
	if c.bySize() {
		list = append(list[:3], least{"batch_size", c.BatchSize, 2})
	} else if c.BatchSize != 0 {
		return AtSetting("batch_size", fmt.Errorf("batch_size %d is of the random sampler; balanced batches have classes_per_batch times images_per_class, %d", c.BatchSize, c.sampled()))
	}
	for _, v := range list {
		if v.n < v.least {
			return AtSetting(v.place, fmt.Errorf("%s is %d, must be at least %d", v.place, v.n, v.least))
		}
	}
	if c.Model.Flow != "" && c.MicroBatch > 0 && c.MicroBatch < c.Batch() {
		return fmt.Errorf("micro-batches of %d images: geometry flow mixes those of a whole batch, %d, which one graph has to hold", c.MicroBatch, c.Batch())
	}
	return nil
}

// Pipelines returns how images are prepared for training and for measuring.
func (c Config) Pipelines() (train, measure *transform.Pipeline, err error) {
	if measure, err = c.Model.Input.Evaluation(); err != nil || c.Data.Augment == transform.NoAugmentation {
		return unvaried(c.Model.Input, measure, err)
	}
	train, err = c.Model.Input.Augmented(c.Data.Augment)
	return train, measure, err
}

// unvaried returns the pipelines of training and measuring without augmentation.
func unvaried(p backbone.Preprocessing, measure *transform.Pipeline, err error) (train, _ *transform.Pipeline, _ error) {
	if err != nil || p.Views() == 1 {
		return measure, measure, err
	}
	train, err = p.Single().Evaluation()
	return train, measure, err
}
