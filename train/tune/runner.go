package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
	"github.com/vernier-ml/vernier/train/sweep"
)

// Runner makes the trials of all studies of a file.
type Runner struct {
	Dir string
	// Jobs trials are made at a time, each with Threads threads.
	Jobs, Threads int
	// Engine makes the engine of one job.
	Engine func(threads int) (sweep.Engine, error)
	// Options are those of every run.
	Options train.Options

	mu      sync.Mutex
	studies []*Study
}

// pause is how long a job waits where other jobs or processes have all trials that could
// be made.
const pause = 300 * time.Millisecond

// Run makes what is left of the trials. A trial that an earlier process left is continued
// with; one that another process works on is left to it, and waited for where others
// depend on it. When ctx ends every run saves its state first.
func (r *Runner) Run(ctx context.Context, f *File) ([]*Study, error) {
	if r.Engine == nil || r.Dir == "" {
		return nil, errors.New("tune: a Runner needs Dir and Engine")
	}
	r.studies = f.Studies(r.Dir)
	for _, s := range r.studies {
		if _, err := f.config(s.Variant); err != nil {
			return nil, fmt.Errorf("variant %s: %w", s.Variant.Name, err)
		}
		if err := s.open(); err != nil {
			return nil, err
		}
		if err := s.refresh(); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for range max(r.Jobs, 1) {
		workers.Go(func() {
			if err := r.work(ctx); err != nil {
				stop(err)
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return r.studies, context.Cause(ctx)
	}
	return r.studies, nil
}

// work makes one trial after the other with one engine.
func (r *Runner) work(ctx context.Context) error {
	eng, err := r.Engine(r.Threads)
	if err != nil {
		return err
	}
	defer eng.Close()
	for {
		s, t, earlier, lock, err := r.next()
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		if t == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
			continue
		}
		err = r.try(ctx, s, t, earlier, eng)
		lock.Close()
		if err != nil {
			return err
		}
		r.tell(s, t)
	}
}

// next locks a trial that can be made. The study is nil when nothing is left, the trial
// when others have all that could be made.
func (r *Runner) next() (study *Study, t *Trial, earlier []*Trial, lock *os.File, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var order []*Study // fewest trials first
	for _, s := range r.studies {
		if err := s.refresh(); err != nil {
			return nil, nil, nil, nil, err
		}
		at := len(order)
		for at > 0 && len(order[at-1].Trials()) > len(s.Trials()) {
			at--
		}
		order = append(order[:at], append([]*Study{s}, order[at:]...)...)
	}
	var waiting *Study
	for _, s := range order {
		from, to := s.generation()
		for n := from; n < to; n++ {
			if s.done[n] != nil {
				continue
			}
			t, lock, err := s.take(n, from)
			if errors.Is(err, run.ErrBusy) {
				waiting = s
				continue
			}
			if err != nil {
				return nil, nil, nil, nil, err
			}
			if t != nil {
				return s, t, s.done[:from:from], lock, nil
			}
		}
	}
	return waiting, nil, nil, nil, nil
}

// take locks a trial and returns it as it stands, or nil if it is not to begin.
func (s *Study) take(number, from int) (*Trial, *os.File, error) {
	dir := s.folder(number)
	begun, err := loadTrial(dir)
	if err != nil || begun == nil && s.spent() {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	lock, err := run.Folder(dir).Lock()
	if err != nil {
		return nil, nil, err
	}
	t := s.propose(number, from)
	stored, err := loadTrial(dir) // as it is under the lock
	switch {
	case err != nil:
	case stored == nil:
		err = t.save(dir)
	case !stored.same(t):
		err = fmt.Errorf("%s holds %v, and the trials before it propose %v: results of the study were changed or removed; remove this trial and those after it", dir, stored.Settings, t.Settings)
	case stored.Over():
		s.done[number] = stored
		lock.Close()
		return nil, nil, nil
	default:
		t = stored
	}
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return t, lock, nil
}

// errStopped ends the training of a trial that is stopped early.
var errStopped = errors.New("the trial is stopped early")

// try makes a trial, fold by fold.
func (r *Runner) try(ctx context.Context, s *Study, t *Trial, earlier []*Trial, eng engine.Engine) error {
	dir := s.folder(t.Number)
	for fold := range len(t.Folds) { // a process may have been killed before it did
		if err := clear(foldFolder(dir, fold+1)); err != nil {
			return err
		}
	}
	for fold := len(t.Folds) + 1; fold <= s.file.Folds && t.State == Running; fold++ {
		began := time.Now()
		err := r.fold(ctx, s, t, fold, earlier, eng)
		t.Seconds += time.Since(began).Seconds()
		wrong := new(run.SettingError)
		switch {
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), t.save(dir))
		case errors.Is(err, errStopped):
			t.State, t.Value = Stopped, t.Values[len(t.Values)-1]
		case errors.As(err, new(*train.DivergedError)), errors.As(err, &wrong), errors.As(err, new(*configError)):
			t.State, t.Why = Failed, err.Error()
		case err != nil:
			return fmt.Errorf("%s, trial %d: %w", s.Variant.Name, t.Number+1, err)
		case fold == s.file.Folds:
			t.State, t.Value = Complete, t.Values[len(t.Values)-1]
		}
		if err := t.save(dir); err != nil {
			return err
		}
		if err := clear(foldFolder(dir, fold)); err != nil {
			return err
		}
	}
	if t.State == Running { // a process ended between its last epoch and this
		t.State, t.Value = Complete, t.Values[len(t.Values)-1]
		if err := t.save(dir); err != nil {
			return err
		}
	}
	r.mu.Lock()
	s.done[t.Number] = t
	r.mu.Unlock()
	return nil
}

// configError says that a point's settings do not go together.
type configError struct{ error }

func foldFolder(dir string, fold int) run.Folder {
	return run.Folder(filepath.Join(dir, "fold-"+strconv.Itoa(fold)))
}

// clear removes the networks of a fold that is done: they would fill disks.
func clear(folder run.Folder) error {
	if _, err := os.Stat(string(folder)); err != nil {
		return nil
	}
	return folder.ClearCheckpoints()
}

// fold trains on all folds but one, and notes the figure of that one after each epoch.
func (r *Runner) fold(ctx context.Context, s *Study, t *Trial, fold int, earlier []*Trial, eng engine.Engine) error {
	cfg, err := s.file.foldConfig(s.Variant, s.Point(t), fold)
	if err != nil {
		return &configError{err}
	}
	t.Steps = s.file.Folds * cfg.Epochs
	t.Values = t.Values[:min(len(t.Values), len(t.Folds)*cfg.Epochs)]
	best := -1.
	after := func(e run.EpochRecord) error {
		recall1, v, _ := e.Candidate()
		if s.file.Figure == FigureRecall {
			v = recall1
		}
		if best = max(best, v); s.file.Best {
			v = best
		}
		sum := v
		for _, x := range t.Folds {
			sum += x
		}
		t.Values = append(t.Values, sum/float64(len(t.Folds)+1))
		if s.file.Stopping.stops(t.Values, t.Steps, earlier) {
			return errStopped
		}
		if e.Epoch == cfg.Epochs {
			t.Folds = append(t.Folds, v)
		}
		return nil
	}
	opt := r.Options
	opt.Workers, opt.ModelOnly, opt.AfterEpoch = r.Threads, true, after
	opt.Events = quiet{run.OrSilent(r.Options.Events), fmt.Sprintf("%s, trial %d, fold %d", s.Variant.Name, t.Number+1, fold)}
	session, err := train.Open(ctx, cfg, string(foldFolder(s.folder(t.Number), fold)), eng, opt)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, e := range session.History() { // of an earlier process
		if err := after(e); err != nil {
			return err
		}
	}
	return session.Train(ctx)
}

// tell reports a trial that is over, with the best so far.
func (r *Runner) tell(s *Study, t *Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := ""
	switch t.State {
	case Complete:
		said = fmt.Sprintf("%s %.2f", s.file.Figure, t.Value)
	case Stopped:
		said = fmt.Sprintf("stopped after %d of %d epochs at %.2f", len(t.Values), t.Steps, t.Value)
	default:
		said = "failed: " + t.Why
	}
	if b := s.Best(); b != nil {
		said += fmt.Sprintf("  best so far %.2f (trial %d)", b.Value, b.Number+1)
	}
	run.OrSilent(r.Options.Events).Say("%s  trial %d/%d  %s  %.0f s", s.Variant.Name, t.Number+1, s.file.Trials, said, t.Seconds)
}

// quiet passes on of a fold what a user of many needs.
type quiet struct {
	ev   run.Events
	name string
}

func (quiet) Say(string, ...any) {}

// Warn leaves out what is a matter of one trial's settings.
func (quiet) Warn(string, ...any) {}

func (q quiet) Progress(task string, done, total int, _ string) {
	if done < total {
		q.ev.Progress(q.name, done, total, task)
	}
}
