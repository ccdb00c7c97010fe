package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

// Runner makes the runs of a sweep in the folders of one folder.
type Runner struct {
	Dir string
	// Jobs runs are made at a time, each with Threads threads.
	Jobs, Threads int
	// Engine makes the engine of one job.
	Engine func(threads int) (Engine, error)
	// Options are those of every run. Its Events receive those of the whole sweep.
	Options train.Options

	mu       sync.Mutex
	finished int // or given up, or left to another process
	total    int
	failures []error
	begun    bool // a run could begin: then the failure of another is its own
}

// Engine is one that is given back after use.
type Engine interface {
	engine.Engine
	Close() error
}

// ErrRunFolder says that the folder for the runs is itself that of one.
var ErrRunFolder = errors.New("this is the folder of a run; a sweep needs one of its own, for example runs/sweep")

// costFile tells what a run has cost.
const costFile = "cost.json"

// cost is its content.
type cost struct {
	Seconds float64 `json:"seconds"` // of all processes that worked on the run
	Threads int     `json:"threads"`
	Failed  string  `json:"failed,omitempty"` // why the latest process gave it up
}

// Run makes what is not finished yet. A run that an earlier process left is gone on
// with; one that another process is working on is left to it. A run that fails does
// not stop the others, unless none could begin so far: Run returns all failures
// together. When ctx ends every run saves its state first.
func (r *Runner) Run(ctx context.Context, jobs []Job) error {
	if r.Engine == nil {
		return errors.New("sweep: Runner.Engine is nil, want a function that makes an engine, as by cpu.New")
	}
	if err := r.Open(); err != nil {
		return err
	}
	r.total = len(jobs)
	foreign, err := r.foreign(jobs)
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		run.OrSilent(r.Options.Events).Warn("%s holds %s that no run of this sweep is, such as %s; the tables there will be of this sweep alone", r.Dir, plural.Of(len(foreign), "run"), foreign[0])
	}
	todo := slices.DeleteFunc(slices.Clone(jobs), r.done)
	r.finished = r.total - len(todo)
	queue := make(chan Job)
	var workers sync.WaitGroup
	for range max(r.Jobs, 1) {
		workers.Go(func() { r.work(ctx, queue) })
	}
	for _, j := range todo {
		if r.done(j) { // by another process meanwhile
			r.count(nil)
			continue
		}
		if r.hopeless() {
			break
		}
		select {
		case queue <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(r.failures...)
}

// Open makes the folder of the runs if it is not there. That of one run is no place
// for others: then the error is ErrRunFolder.
func (r *Runner) Open() error {
	if r.Dir == "" {
		return errors.New("sweep: Runner.Dir is empty, want the folder for the runs")
	}
	if isRun(r.Dir) {
		return fmt.Errorf("%s: %w", r.Dir, ErrRunFolder)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("folder %s cannot be made: %w", r.Dir, err)
	}
	return nil
}

// done reports whether a run is finished.
func (r *Runner) done(j Job) bool { return exists(r.folder(j).Path(run.ResultsFile)) }

// foreign lists the runs in the folder that no job makes.
func (r *Runner) foreign(jobs []Job) ([]string, error) {
	names, err := runsIn(r.Dir)
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == name })
	}), err
}

func (r *Runner) folder(j Job) run.Folder { return run.Folder(filepath.Join(r.Dir, j.Name)) }

// Folders lists the folders of runs, finished or not.
func (r *Runner) Folders(jobs []Job) []string {
	var list []string
	for _, j := range jobs {
		if f := string(r.folder(j)); isRun(f) {
			list = append(list, f)
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// work makes one run after the other with one engine.
func (r *Runner) work(ctx context.Context, queue <-chan Job) {
	eng, err := r.Engine(r.Threads)
	if err != nil {
		run.OrSilent(r.Options.Events).Warn("%v", err)
		r.count(err)
		for range queue { // nothing can be made here
		}
		return
	}
	defer eng.Close()
	for j := range queue {
		begun := time.Now()
		recall, err := r.one(ctx, j, eng)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			run.OrSilent(r.Options.Events).Say("%d/%d  %s  Recall@1 %.1f%%  %.0f s", r.count(nil), r.total, j.Name, recall, time.Since(begun).Seconds())
		case errors.Is(err, run.ErrBusy):
			run.OrSilent(r.Options.Events).Warn("%d/%d  %s is left to the other process that works on it", r.count(nil), r.total, j.Name)
		default:
			err = fmt.Errorf("%s: %w", j.Name, err)
			run.OrSilent(r.Options.Events).Warn("%d/%d  %v", r.count(err), r.total, err)
		}
	}
}

// count notes that a run is over, and returns how many are.
func (r *Runner) count(err error) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failures = append(r.failures, err)
	}
	r.finished++
	return r.finished
}

// hopeless reports whether what went wrong will go wrong with every run: a data
// set that is not there, a disk that is full.
func (r *Runner) hopeless() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.begun && len(r.failures) > 0
}

// progress tells how far all are, and what one of them does.
func (r *Runner) progress(detail string) {
	r.mu.Lock()
	done, total := r.finished, r.total
	r.mu.Unlock()
	if done < total {
		run.OrSilent(r.Options.Events).Progress("runs", done, total, detail)
	}
}

// one makes a run or continues with it, and returns its Recall@1.
func (r *Runner) one(ctx context.Context, j Job, eng engine.Engine) (recall float64, err error) {
	begun := time.Now()
	folder, opt := r.folder(j), r.Options
	opt.Workers, opt.ModelOnly = r.Threads, true
	opt.Events = &jobEvents{runner: r, name: j.Name}
	r.progress(j.Name)
	var s *train.Session
	if exists(folder.Path(run.CheckpointFile)) {
		s, err = train.Resume(ctx, folder, eng, opt)
	} else {
		s, err = train.Start(ctx, j.Config, folder, eng, opt)
	}
	if err != nil {
		return 0, err
	}
	defer s.Close()
	r.mu.Lock()
	r.begun = true
	r.mu.Unlock()
	defer func() {
		why := ""
		if err != nil && ctx.Err() == nil {
			why = err.Error()
		}
		err = errors.Join(err, addCost(folder, time.Since(begun), r.Threads, why))
	}()
	if err := s.Train(ctx); err != nil {
		return 0, err
	}
	res, err := s.Finish(ctx)
	if err != nil {
		return 0, err
	}
	recall, _ = res.Model.RecallAt(1)
	return recall, nil
}

// addCost adds to what a run has cost, and says why it failed if it did.
func addCost(folder run.Folder, spent time.Duration, threads int, failed string) error {
	c, err := readCost(folder)
	if err != nil {
		return err
	}
	c.Seconds += spent.Seconds()
	c.Threads, c.Failed = threads, failed
	return folder.SaveJSON(costFile, c)
}

func readCost(folder run.Folder) (c cost, err error) {
	text, err := os.ReadFile(folder.Path(costFile))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", folder.Path(costFile), err)
	}
	return c, nil
}

// Cost sums up the seconds that runs took, and says how many of them tell.
func Cost(runs []Run) (seconds float64, known int, err error) {
	for _, r := range runs {
		c, err := readCost(run.Folder(r.Folder))
		if err != nil {
			return 0, 0, err
		}
		if c.Seconds > 0 {
			seconds, known = seconds+c.Seconds, known+1
		}
	}
	return seconds, known, nil
}

// jobEvents passes what one run tells on as part of the whole.
type jobEvents struct {
	runner *Runner
	name   string
}

func (e *jobEvents) Say(string, ...any) {}

func (e *jobEvents) Warn(format string, args ...any) {
	run.OrSilent(e.runner.Options.Events).Warn("%s: %s", e.name, fmt.Sprintf(format, args...))
}

func (e *jobEvents) Progress(task string, done, total int, _ string) {
	e.runner.progress(fmt.Sprintf("%s: %s %d/%d", e.name, task, done, total))
}
