package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// Resume continues a run from one of its checkpoints, exactly as if it had
// never stopped. What came after that checkpoint is given up. A run that was
// ended before its first checkpoint begins anew.
func Resume(ctx context.Context, folder run.Folder, eng engine.Engine, opt Options) (*Session, error) {
	cfg, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	path, err := folder.Checkpoint(opt.From)
	if err != nil {
		return nil, err
	}
	stored := cfg
	if cfg, err = opt.Given.Change(cfg); err != nil {
		return nil, err
	}
	return reopen(ctx, folder, cfg, stored, path, eng, opt)
}

// Open begins a run of a configuration in a folder or, where the folder holds a run of
// that configuration, continues with it as Resume does, to the same bits: a program that
// calls it may be stopped and started again. A run that began with other settings, but
// for those that Resume may change, is refused.
func Open(ctx context.Context, cfg run.Config, path string, eng engine.Engine, opt Options) (*Session, error) {
	folder, err := run.Claim(path, false)
	if !errors.Is(err, run.ErrExists) {
		if err != nil {
			return nil, err
		}
		return Start(ctx, cfg, folder, eng, opt)
	}
	if folder, err = run.Open(path); err != nil {
		return nil, err
	}
	stored, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	checkpoint, err := folder.Checkpoint(opt.From)
	if err != nil {
		return nil, err
	}
	cfg.Weights.SHA256, cfg.Loss.Effective = stored.Weights.SHA256, stored.Loss.Effective
	return reopen(ctx, folder, cfg, stored, checkpoint, eng, opt)
}

// reopen continues with a run that has stored settings from a checkpoint, in place of
// which path is "" where there is none, with settings cfg, which differ in what may
// change alone.
func reopen(ctx context.Context, folder run.Folder, cfg, stored run.Config, path string, eng engine.Engine, opt Options) (*Session, error) {
	config := folder.Path(run.ConfigFile)
	if err := stored.CheckKnown(); err != nil {
		return nil, fmt.Errorf("%s: %w", config, err)
	}
	s, err := prepare(ctx, cfg, folder, eng, opt)
	if err != nil {
		return nil, cfg.ExplainMissing(err)
	}
	if err := sameSettings(stored, cfg, s.cfg); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s %w", folder, err)
	}
	if err := stored.CheckLoss(len(s.sets.Train.Classes)); err != nil {
		s.Close()
		return nil, fmt.Errorf("%s: %w", config, err)
	}
	if stored.MicroBatch == 0 && s.comm.Size() > 1 {
		s.Close()
		return nil, setting.Errorf("%s holds a run whose batches go through the network as a whole, in one process: several ranks take parts of them, of the size that %s said when the run began", folder, setting.Name("micro_batch"))
	}
	if path == "" {
		s.ev.Say("there is no checkpoint yet: the run begins anew")
		return s, s.beginAnew(ctx)
	}
	if err = s.agreeToBegin(); err == nil && s.lead() {
		err = s.keeper.claim()
	}
	if err == nil {
		err = s.loadCheckpoint(path, stored)
	}
	if err == nil {
		err = s.feeder.open(ctx)
	}
	if err == nil {
		err = s.comm.Barrier() // all have read the checkpoint
	}
	if err == nil {
		err = s.reclaim(path, stored, cfg)
	}
	if err == nil {
		err = s.agree()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// reclaim lets rank 0 make the folder what it was when the checkpoint was written.
func (s *Session) reclaim(path string, stored, cfg run.Config) error {
	if s.lead() {
		if cfg.Data != stored.Data || cfg.Weights != stored.Weights || cfg.Run != stored.Run {
			if err := s.folder.SaveConfig(s.cfg); err != nil {
				return err
			}
		}
		if err := s.openLog(); err != nil {
			return err
		}
	}
	type best struct {
		Epoch    int
		MAPAtR   float64
		Averaged bool
	}
	b, err := comm.FromLead(s.comm, func() (best, error) {
		err := s.settle(path)
		return best{s.state.BestEpoch, s.state.Best, s.state.BestEMA}, err
	})
	s.state.BestEpoch, s.state.Best, s.state.BestEMA = b.Epoch, b.MAPAtR, b.Averaged
	return err
}

// sameSettings refuses settings that are not those of a stored run. What did not fit
// the data was brought to it when the run began: fitted has that, too.
func sameSettings(stored, given, fitted run.Config) error {
	const in, now = "in " + run.ConfigFile, "now"
	if len(run.Differences(stored, given.WithChangeable(stored), in, now)) == 0 {
		return nil
	}
	if diff := run.Differences(stored, fitted.WithChangeable(stored), in, now); len(diff) > 0 {
		return fmt.Errorf("holds a run with other settings:\n  %s\ngive the new run another folder", strings.Join(diff, "\n  "))
	}
	return nil
}

// beginAnew starts a run whose folder has nothing but its configuration.
func (s *Session) beginAnew(ctx context.Context) error {
	err := s.loadWeights(ctx)
	if err == nil {
		err = s.feeder.open(ctx)
	}
	if err == nil {
		err = s.begin(ctx)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// loadCheckpoint restores what saveCheckpoint wrote with the stored settings.
func (s *Session) loadCheckpoint(path string, stored run.Config) error {
	f, err := weights.Open(path)
	if err != nil {
		return s.folder.Damaged(path, err)
	}
	defer f.Close()
	if has, err := f.Verify(); err != nil || !has {
		if err == nil {
			err = fmt.Errorf("%s is damaged, or no checkpoint of this version: it has no checksum", path)
		}
		return s.folder.Damaged(path, err)
	}
	meta := f.Metadata()
	var written run.Config
	if err := json.Unmarshal([]byte(meta[run.ConfigKey]), &written); err != nil {
		return fmt.Errorf("%s: its settings: %w", path, err)
	}
	written = written.WithChangeable(stored)
	if diff := run.Differences(stored, written, "in "+run.ConfigFile, "in the checkpoint"); len(diff) > 0 {
		return fmt.Errorf("%s was written with other settings than those in %s:\n  %s", path, s.folder.Path(run.ConfigFile), strings.Join(diff, "\n  "))
	}
	if err := json.Unmarshal([]byte(meta[run.StateKey]), &s.state); err != nil {
		return fmt.Errorf("%s: its state: %w", path, err)
	}
	if s.state.Data != s.sets.Fingerprint {
		return fmt.Errorf("the images of %s are not those that the run began with (some came, went, or changed their size), so it cannot continue: put them back, or train anew in another folder", s.cfg.Data.Spec)
	}
	own, err := s.cfg.DescribeOwn(s.sampler)
	if err == nil {
		err = run.CheckOwn(s.state.Own, own)
	}
	if err != nil {
		return err
	}
	s.goOnWith(s.model.Params.Engine().Info())
	if s.state.Released > 0 { // otherwise the warm-up's moments are in the file
		if _, err := s.tune(); err != nil {
			return err
		}
	}
	for _, t := range s.keeper.tensors() {
		if err := model.ReadInto(s.model.Params.Engine(), t.Value, f, t.Name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	s.stepper.opti.SetSteps(s.state.Steps, s.state.Released)
	if s.state.Position.Epoch >= s.epochs() {
		s.ev.Say("trained to the end: %s", plural.Of(s.epochs(), "epoch"))
		return nil
	}
	s.ev.Say("resuming at epoch %d, batch %d", s.state.Position.Epoch+1, s.state.Position.Batch+1)
	return nil
}

// settle makes the folder what it was when the checkpoint was written: an older
// one becomes the latest, and what came after it goes.
func (s *Session) settle(path string) error {
	epoch := s.state.Position.Epoch
	if path == s.folder.Path(run.CheckpointFile) {
		if s.state.Position.Batch > 0 {
			return nil
		}
		return s.keeper.linkCheckpoints(epoch) // a process may have been killed before it did
	}
	if s.state.BestEpoch != epoch {
		_, best, err := s.folder.LoadModel(s.model.Params.Engine(), run.Best)
		if err != nil {
			return err
		}
		if best != s.state.BestEpoch {
			s.ev.Warn("the model of epoch %d, which was the best by then, is gone: epoch %d takes its place", s.state.BestEpoch, epoch)
			s.state.BestEpoch = epoch
			if n := len(s.state.History); n > 0 {
				_, s.state.Best, s.state.BestEMA = s.state.History[n-1].Candidate()
			}
		}
	}
	kept, err := s.folder.KeptEpochs()
	if err != nil {
		return err
	}
	for _, n := range kept {
		if n > epoch {
			if err := os.Remove(s.folder.Path(run.EpochCheckpoint(n))); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(s.folder.Path(run.ResultsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.keeper.save()
}

// goOnWith notes what computes from here on, and warns where it is not what computed
// so far.
func (s *Session) goOnWith(now engine.Info) {
	before := s.state.Engine
	s.state.Engine = now
	switch {
	case before == now || before == engine.Info{}:
	case before.Precision != now.Precision:
		s.ev.Warn("the run was computed in %s so far (%v), and continues in %s (%v): its figures will differ a little from those of an uninterrupted run", before.Precision, before, now.Precision, now)
	default:
		s.ev.Warn("the run began with other kernels (%v, now %v): its last bits will differ from those of an uninterrupted run", before, now)
	}
}
