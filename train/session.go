package train

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/run/pairs"
	"github.com/vernier-ml/vernier/weights"
)

// Options are the settings that change nothing but time and talk.
type Options struct {
	Workers int // goroutines that prepare images, 0 for one a CPU
	Cache   run.CacheOptions
	Events  run.Events // nil for none
	// AllTestFigures adds NMI and F1 to what Output.EvalEvery measures, and, of a
	// model with geometry flow, shuffled batches.
	AllTestFigures bool
	// ModelOnly leaves out of what Finish does all that the trained model has no
	// part in, and pictures: for one run of many. Restarts are of k-means in it, 0
	// for 20.
	ModelOnly bool
	Restarts  int
	// Given holds settings for a run that is resumed. What may change of its
	// configuration, Output for one, becomes what they say.
	Given *run.Settings
	// From says where Resume begins: at the latest checkpoint (""), at that of the
	// best epoch (FromBest), or at that of an epoch by its number.
	From string
	// Comm connects the ranks that take a share of every batch each, to the model of one
	// rank with micro-batches of the same size, to the bit. They share measuring too. Every
	// rank calls the same methods of its Session; rank 0 alone writes the folder and
	// reports. nil for one.
	Comm comm.Comm
	// Trace is the number of steps whose times are taken, after the first of the process:
	// run.TraceFile and run.TraceTable are written when they are done. 0 for none.
	Trace int
	// AfterEpoch, if not nil, is called with each epoch when it has been saved. The error
	// that it returns ends Train: the run can be resumed behind that epoch.
	AfterEpoch func(run.EpochRecord) error
	// Memory is the most bytes that a run may take; 0 leaves it what the machine
	// has.
	Memory int64
}

// run are the options that measuring has as well.
func (o Options) run() run.Options {
	return run.Options{Workers: o.Workers, Cache: o.Cache, Events: o.Events, ModelOnly: o.ModelOnly, Comm: o.Comm}
}

// Session is a run of training, which Open, Start or Resume makes. Call Train, then
// Finish, then Close, from one goroutine.
type Session struct {
	*setup
	feeder   *feeder
	stepper  *stepper
	measurer *measurer
	keeper   *keeper
	teller   *teller
	tracing  *tracing
	program  int64 // bytes resident before the network was made
}

// setup is what a run consists of and how far it has come, which all of the session's
// parts share.
type setup struct {
	cfg    run.Config
	folder run.Folder
	opt    Options
	comm   comm.Comm
	ev     run.Events

	sets     run.Sets
	model    *model.Model
	pipeline *transform.Pipeline // of measuring
	sampler  data.Sampler
	pairs    *pairs.Relations // that somebody has marked; nil for none
	log      *logFile
	board    *board       // nil for no event files
	bad      map[int]bool // training items that some rank could not read
	badItems func() []int // those of this rank

	state state
}

// newSession returns a session without images and model.
func newSession(cfg run.Config, folder run.Folder, opt Options) *Session {
	opt.Comm = comm.OrSingle(opt.Comm)
	if opt.Comm.Rank() > 0 {
		opt.Events, opt.Trace = nil, 0
	}
	opt.Events = run.OrSilent(opt.Events)
	u := &setup{cfg: cfg, folder: folder, opt: opt, comm: opt.Comm, ev: opt.Events, bad: map[int]bool{}}
	s := &Session{setup: u, feeder: &feeder{setup: u}, stepper: &stepper{setup: u}}
	s.measurer = &measurer{setup: u, feeder: s.feeder, stepper: s.stepper}
	s.keeper = &keeper{setup: u, stepper: s.stepper, write: weights.WriteChecked}
	s.teller = &teller{setup: u, stepper: s.stepper}
	s.tracing = &tracing{setup: u, stepper: s.stepper, steps: opt.Trace}
	return s
}

// state is what a checkpoint holds beside tensors.
type state struct {
	Position  data.Position     `json:"position"`
	Best      float64           `json:"best"`               // validation MAP@R of the best model, -1 before the first
	BestEpoch int               `json:"best_epoch"`         // from 1; 0 for none yet
	BestEMA   bool              `json:"best_ema,omitempty"` // the best has averaged weights
	History   []run.EpochRecord `json:"history"`
	// LossSum and LossSteps run over the current epoch.
	LossSum   float64 `json:"loss_sum"`
	LossSteps int     `json:"loss_steps"`
	Steps     int     `json:"steps"` // of the optimizer
	// Data is the fingerprint of the images, Engine what computed: a run
	// continues exactly only where both are what they were.
	Data   string      `json:"data"`
	Engine engine.Info `json:"engine"`
	// Own describes what the program registered: see run.Config.DescribeOwn.
	Own map[string]string `json:"own,omitempty"`
	// Released is the step after which the warm-up was over; 0 without one.
	Released int `json:"released"`
	// Mean and Std are of the metric between images of the epoch's last batch.
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	// Flow is what the geometry flow layers found in it.
	Flow []layers.FlowStats `json:"geometry_flow,omitempty"`
	// Saturated is of the same images, see EpochRecord.
	Saturated float64 `json:"saturated"`
	Health    health  `json:"health"`
}

// Start prepares a new run in a folder that Claim accepted. Nothing is trained yet.
func Start(ctx context.Context, cfg run.Config, folder run.Folder, eng engine.Engine, opt Options) (*Session, error) {
	if folder == "" {
		return nil, errors.New("the run has no folder: run.Claim gives one")
	}
	s, err := prepare(ctx, cfg, folder, eng, opt)
	if err != nil {
		return nil, err
	}
	if err = s.loadWeights(ctx); err == nil {
		err = s.feeder.open(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	defer collectOften()()
	if err := s.begin(ctx); err != nil {
		if s.keeper.lock != nil { // otherwise the folder is another's
			// A run that never began is nothing to resume or to overwrite.
			err = errors.Join(err, s.folder.Abandon())
		}
		s.Close()
		return nil, err
	}
	return s, nil
}

// steps is the length of the whole run, epochs the same in epochs, of which the
// last may be cut short.
func (s *setup) steps() int {
	if s.cfg.Steps > 0 {
		return s.cfg.Steps
	}
	return s.cfg.Epochs * s.sampler.Batches()
}

func (s *setup) epochs() int {
	n := s.sampler.Batches()
	return (s.steps() + n - 1) / n
}

// batches is the number of those in an epoch (from 0).
func (s *setup) batches(epoch int) int {
	n := s.sampler.Batches()
	return min(n, s.steps()-epoch*n)
}

// begin writes what a run has from its first moment on.
func (s *Session) begin(ctx context.Context) error {
	s.state.Best = -1
	s.state.Data, s.state.Engine = s.sets.Fingerprint, s.model.Params.Engine().Info()
	var err error
	if s.state.Own, err = s.cfg.DescribeOwn(s.sampler); err != nil {
		return err
	}
	if s.cfg.Loss.Effective, err = losses.Effective(s.cfg.Loss.Name, s.cfg.LossOptions(len(s.sets.Train.Classes), s.cfg.Loss.Params)); err != nil {
		return err
	}
	if err := s.agreeToBegin(); err != nil {
		return err
	}
	if s.lead() {
		if err := s.clear(); err != nil {
			return err
		}
	}
	if err := s.startInput(ctx); err != nil {
		return err
	}
	if err := s.startProxies(ctx); err != nil {
		return err
	}
	if a := s.stepper.average; a != nil { // what it began at has been replaced
		if err := a.Restart(); err != nil {
			return err
		}
	}
	if f := s.stepper.momentum; f != nil {
		if err := f.Restart(); err != nil {
			return err
		}
	}
	// There is a good model from the start, whatever happens to the first epoch.
	if err := s.keeper.save(); err != nil {
		return err
	}
	return s.agree()
}

// clear makes the folder one of a run that begins.
func (s *Session) clear() error {
	if err := s.keeper.claim(); err != nil {
		return err
	}
	// At every moment the folder is a run that can continue or begin anew: the
	// checkpoints of an earlier run go first, its configuration is replaced, and
	// then goes what else it left.
	if err := s.folder.ClearCheckpoints(); err != nil {
		return err
	}
	if err := s.folder.SaveConfig(s.cfg); err != nil {
		return err
	}
	if err := s.folder.ClearResults(); err != nil {
		return err
	}
	return s.openLog()
}

// openLog begins, or continues with, the log and TensorBoard's file.
func (s *Session) openLog() (err error) {
	if s.log, err = openLog(s.folder.Path(run.LogFile), s.state.Steps); err != nil {
		return err
	}
	if err = s.log.write(startRecord{"start", s.state.Steps, s.model.Params.Engine().Info()}); err != nil || !s.cfg.Run.TensorBoard || s.state.Position.Epoch >= s.epochs() {
		return err
	}
	s.board, err = openBoard(s.folder, s.state.Steps)
	return err
}

// prepare opens the images of a run and builds its model and the graph of a step.
func prepare(ctx context.Context, cfg run.Config, folder run.Folder, eng engine.Engine, opt Options) (s *Session, err error) {
	if eng == nil {
		return nil, errors.New("the engine is nil: cpu.New makes one")
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s = newSession(cfg, folder, opt)
	if s.sets, err = run.OpenSets(ctx, cfg, opt.run()); err != nil {
		return nil, err
	}
	made := s // an error's return sets s to nil
	defer func() {
		if err != nil {
			made.Close()
		}
	}()
	for _, n := range s.sets.All.Remarks() {
		s.ev.Warn("%s", n)
	}
	if s.cfg, err = cfg.FitRows(s.sets.All); err != nil {
		return nil, err
	}
	if err := s.sets.CheckMeasurable(cfg.Data); err != nil {
		return nil, err
	}
	s.dropLabels()
	if err := s.openPairs(); err != nil {
		return nil, err
	}
	if err := s.fitBatch(); err != nil {
		return nil, err
	}
	if err := s.divide(); err != nil {
		return nil, err
	}
	cfg = s.cfg
	if err := s.sample(); err != nil {
		return nil, err
	}
	s.checkWarmup()
	if _, s.pipeline, err = cfg.Pipelines(); err != nil {
		return nil, err
	}
	// What was listed and divided stays; what that took besides is given back first, so
	// that it is not counted as the run's.
	debug.FreeOSMemory()
	s.program = resident()
	if s.model, err = model.New(eng, cfg.Model, cfg.Seed); err != nil {
		return nil, err
	}
	s.model.Shorter = cfg.Data.Shorter
	if cfg.Data.CacheFrozen != "" {
		if err = s.model.Enter(cfg.Freeze.To); err != nil {
			return nil, err
		}
	}
	if _, err = s.tune(); err != nil {
		return nil, err
	}
	return s, s.planner().fits()
}

// Close releases what the session holds; the folder stays.
func (s *Session) Close() error {
	s.tracing.close()
	s.stepper.release()
	if s.log != nil {
		s.log.close()
	}
	s.measurer.probes.close()
	s.board.close()
	s.keeper.unlock()
	if s.feeder.features != nil {
		if err := s.feeder.features.Close(); err != nil {
			return err
		}
	}
	return s.sets.All.Close()
}

// Model is the model as it is now.
func (s *Session) Model() *model.Model { return s.model }

// Describe lists the sizes of a run, for the user to check.
func (s *Session) Describe() string {
	validation := 0
	if s.sets.Validation != nil {
		validation = len(s.sets.Validation.Classes)
	}
	numbers := plural.Of(s.model.Size(), "parameter")
	own, layered := 0, 0 // numbers of the model, and of layers that only training needs, which are trained
	for _, p := range s.model.Params.All() {
		switch {
		case !p.Trainable():
		case p.Group.InModel():
			own += p.Value.Size()
		case p.Group == layers.Training:
			layered += p.Value.Size()
		}
	}
	if _, frozen := countParams(s.model.Params); frozen > 0 {
		numbers += fmt.Sprintf(" (%d trained)", own)
	}
	if layered > 0 {
		numbers += fmt.Sprintf(" and %d that only training needs", layered)
	}
	what := "activations and gradients"
	if s.stepper.net.loss.OnEngine() {
		what += ", and the loss,"
	}
	training := fmt.Sprintf("%s (%s)", plural.Of(len(s.sets.Train.Classes), "training class"), plural.Of(len(s.sets.Train.Items), "image"))
	if s.cfg.Unlabeled() {
		training = fmt.Sprintf("%s without labels in %d views", plural.Of(len(s.sets.Train.Items), "image"), s.cfg.Data.Views)
	}
	return fmt.Sprintf("%s, %d validation, %s (%s); %s; %s an epoch; %.0f MiB of %s", training, validation,
		plural.Of(len(s.sets.Test.Classes), "test class"), plural.Of(len(s.sets.Test.Items), "image"),
		numbers, plural.Of(s.sampler.Batches(), "step"), float64(s.stepper.net.bytes())/(1<<20), what)
}
