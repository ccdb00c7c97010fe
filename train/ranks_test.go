package train

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// onRanks starts or resumes a run as size ranks, lets each do f with its session, and
// returns the first failure.
func onRanks(t *testing.T, size int, open func(opt Options, rank int) (*Session, error), f func(s *Session) error) error {
	t.Helper()
	return comm.Local(size, func(c comm.Comm) (err error) {
		s, err := open(Options{Workers: 1, Comm: c}, c.Rank())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		return f(s)
	})
}

// starting starts a run in a folder, each rank on an engine of its own.
func starting(t *testing.T, c run.Config, folder run.Folder) func(Options, int) (*Session, error) {
	return func(opt Options, _ int) (*Session, error) {
		return Start(context.Background(), c, folder, ownEngine(t), opt)
	}
}

// ranksTrainTheSame trains c on each number of ranks, which agree at the end, and compares the
// models with want, those of bytesOf.
func ranksTrainTheSame(t *testing.T, c run.Config, want []string, sizes ...int) {
	t.Helper()
	for _, size := range sizes {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		if err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
			if err := s.Train(t.Context()); err != nil {
				return err
			}
			return s.agree()
		}); err != nil {
			t.Fatalf("%d ranks: %v", size, err)
		}
		if got := bytesOf(t, folder); !slices.Equal(got, want) {
			t.Errorf("%d ranks: %v, want %v", size, got, want)
		}
	}
}

// ownEngine is one for a rank alone.
func ownEngine(t *testing.T) *cpu.Engine {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// resuming continues the run of a folder.
func resuming(t *testing.T, folder run.Folder) func(Options, int) (*Session, error) {
	return func(opt Options, _ int) (*Session, error) {
		return Resume(context.Background(), folder, ownEngine(t), opt)
	}
}

// ranksConfig is a run of 20 steps with batches of 16 in parts of 2 images, and 12
// validation images, which 8 ranks could not share evenly.
func ranksConfig(t *testing.T) run.Config {
	c := smallConfig(t, shades(t, 16, 5))
	c.Data.Augment, c.Data.Validation = "photos", .4
	c.ClassesPerBatch, c.ImagesPerClass, c.MicroBatch = 4, 4, 2
	c.Freeze = model.Freeze{BNStats: true}
	c.Epochs, c.Steps, c.WarmupEpochs = 100, 20, 1
	return c
}

// bytesOf are the hashes of a run's models.
func bytesOf(t *testing.T, folder run.Folder) (list []string) {
	t.Helper()
	for _, name := range []string{run.LastFile, run.BestFile, run.LastEMAFile} {
		text, err := os.ReadFile(folder.Path(name))
		if name == run.LastEMAFile && errors.Is(err, fs.ErrNotExist) {
			continue // of a run without an average
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %x", name, sha256.Sum256(text)))
	}
	return list
}

// Ranks train the model of one process to the bit: losses on pairs and on proxies, with a
// memory, terms and limits of the gradient.
func TestRanksTrainTheModelOfOneProcess(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"pairs":   func(c *run.Config) { c.Loss.Name = "contrastive" },
		"proxies": func(c *run.Config) { c.Loss.Name = "proxy-anchor" },
		"BRM": func(c *run.Config) {
			c.Loss.Name = "npairs"
			c.Model.Metric = metric.Metric{Kind: metric.BRM, P: 2, Omega: 1}
		},
		"statistics of parts": func(c *run.Config) { c.Loss.Name, c.Freeze.BNStats = "supcon", false },
		"a memory":            func(c *run.Config) { c.Loss = run.LossConfig{Name: "multi-similarity", Memory: 24, MemoryStart: 1} },
		"larger parts":        func(c *run.Config) { c.Loss.Name = "triplet"; c.MicroBatch = 4 },
		"single images":       func(c *run.Config) { c.Loss.Name = "proxy-nca"; c.MicroBatch = 1 },
		"an average":          func(c *run.Config) { c.Loss.Name, c.EMA, c.Freeze.BNStats = "contrastive", .9, false },
		"a learned scale": func(c *run.Config) {
			c.Loss.Name, c.Model.Scaling, c.Model.Normalization = "contrastive", model.ScaleLearn, model.NormRows
			c.Model.Metric = metric.Metric{Kind: metric.BRM, P: 2, Omega: 1}
		},
		"swap, hard negatives": func(c *run.Config) {
			c.Loss = run.LossConfig{Name: "triplet", Params: map[string]string{"swap": "true", "mining": "batch-hard"}}
		},
		"negatives drawn by chance": func(c *run.Config) {
			c.Loss = run.LossConfig{Name: "triplet", Params: map[string]string{"mining": "distance-weighted", "seed": "5"}}
		},
		"terms on features": func(c *run.Config) {
			c.Loss = run.LossConfig{Name: "cosface", Terms: []run.TermConfig{{Name: "jrd"}, {Name: "nasa"}}}
		},
		"terms, limits": func(c *run.Config) {
			c.Loss = run.LossConfig{Name: "margin", Terms: []run.TermConfig{{Name: "sec"}, {Name: "orthogonality"}}}
			c.Optimizer.ClipNorm, c.Optimizer.ClipValue = .5, .1
		},
	} {
		c := ranksConfig(t)
		change(&c)
		alone := begin(t, c)
		trainAll(t, alone)
		want, history := bytesOf(t, alone.folder), alone.state.History
		if steps := alone.stepper.opti.Steps(); steps != 20 {
			t.Fatalf("%s: %d steps", name, steps)
		}
		for _, size := range []int{1, 2, 4, 8} {
			if size == 1 && name != "pairs" || comm.CheckParts(c.Batch()/c.MicroBatch, size) != nil {
				continue
			}
			folder := run.Folder(filepath.Join(t.TempDir(), "run"))
			err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
				if err := s.Train(t.Context()); err != nil {
					return err
				}
				if !reflect.DeepEqual(s.state.History, history) {
					return fmt.Errorf("epochs %+v, want %+v", s.state.History, history)
				}
				return s.agree()
			})
			if err != nil {
				t.Errorf("%s, %d ranks: %v", name, size, err)
				continue
			}
			if got := bytesOf(t, folder); !slices.Equal(got, want) {
				t.Errorf("%s, %d ranks: %v, want %v", name, size, got, want)
			}
			for i, s := range stepsOf(t, folder) {
				if own := stepsOf(t, alone.folder)[i]; s != own {
					t.Errorf("%s, %d ranks: the log says %+v, want %+v", name, size, s, own)
				}
			}
		}
	}
}

// Ranks measure a run as one process does: sets of 40 and 35 images, of which some cannot be
// read, in the middle of a run and at its end.
func TestRanksMeasureTheFiguresOfOneProcess(t *testing.T) {
	c := ranksConfig(t)
	c.Data.Validation, c.Steps, c.Data.MaxBad, c.Run.EvalEvery = .4, 6, 3, 1
	dir := strings.TrimPrefix(c.Data.Spec, "folder:")
	alone := begin(t, c)
	paths := alone.sets.Test.Items
	for _, i := range []int{0, 17, len(paths) - 1} {
		if err := os.WriteFile(filepath.Join(dir, paths[i].Path), []byte("no image"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	trainAll(t, alone)
	want, err := alone.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := want.Model.Queries; n != len(paths)-3 || n%2 == 0 {
		t.Fatalf("%d of %d test images are measured", n, len(paths))
	}
	for _, size := range []int{2, 4, 8} {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
			if err := s.Train(t.Context()); err != nil {
				return err
			}
			if !reflect.DeepEqual(s.state.History, alone.state.History) {
				return fmt.Errorf("epochs %+v, want %+v", s.state.History, alone.state.History)
			}
			r, err := s.Finish(t.Context())
			if err == nil && s.lead() && !reflect.DeepEqual(r, want) {
				err = fmt.Errorf("results %+v, want %+v", r, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%d ranks: %v", size, err)
		}
	}
	// One image more than may be is refused, though no rank has met so many.
	err = comm.Local(4, func(ranks comm.Comm) error {
		opt := run.MeasureOptions{Selection: run.Selection{Options: run.Options{Comm: ranks, Workers: 1}}}
		cfg := c
		cfg.Data.MaxBad = 2
		_, _, err := run.MeasureNetwork(t.Context(), cfg, ownEngine(t), opt)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "3 unreadable images, at most 2 are skipped") {
		t.Errorf("got %v", err)
	}
}

// One rank is told to stop, each at another time. All stop after the same step, and any
// number of ranks continues to the bytes of a run that never stopped.
func TestRanksStopTogetherAndAnyNumberContinues(t *testing.T) {
	c := ranksConfig(t)
	c.Steps, c.EMA = 9, .9
	alone := begin(t, c)
	trainAll(t, alone)
	want := bytesOf(t, alone.folder)
	for i, resumed := range []int{1, 4, 2, 8} {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		size, stops := 4, i // the rank that is told
		after := make([]int, size)
		err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if s.comm.Rank() == stops {
				s.ev = stopAfter{stop: cancel, steps: 3 + i, s: s}
			}
			err := s.Train(ctx)
			after[s.comm.Rank()] = s.stepper.opti.Steps()
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			return err
		})
		if err != nil {
			t.Fatalf("rank %d stops: %v", stops, err)
		}
		if slices.Min(after) != slices.Max(after) || after[0] >= 9 || after[0] < 3 {
			t.Errorf("rank %d stops: ranks are after steps %v", stops, after)
		}
		err = onRanks(t, resumed, resuming(t, folder), func(s *Session) error { return s.Train(t.Context()) })
		if err != nil {
			t.Fatalf("%d ranks continue: %v", resumed, err)
		}
		if got := bytesOf(t, folder); !slices.Equal(got, want) {
			t.Errorf("%d ranks continue: %v, want %v", resumed, got, want)
		}
	}
}

// stopAfter stops a run after a number of steps.
type stopAfter struct {
	silent
	stop  func()
	steps int
	s     *Session
}

func (a stopAfter) Progress(string, int, int, string) {
	if a.s.stepper.opti.Steps() >= a.steps {
		a.stop()
	}
}

// A rank that fails in a step ends all within it, with one line that names it.
func TestARankThatFailsInAStepEndsTheRun(t *testing.T) {
	c := ranksConfig(t)
	broken := errors.New("the disk of images is gone")
	err := onRanks(t, 4, starting(t, c, run.Folder(filepath.Join(t.TempDir(), "run"))), func(s *Session) error {
		if s.comm.Rank() == 2 {
			if err := s.release(); err != nil {
				return err
			}
			return broken
		}
		return s.Train(t.Context())
	})
	if err == nil || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "rank 2 (") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// Unreadable images count on all ranks together.
func TestUnreadableImagesOfAllRanksCount(t *testing.T) {
	c := ranksConfig(t)
	c.Data.Validation, c.Steps = 0, 6
	dir := strings.TrimPrefix(c.Data.Spec, "folder:")
	paths, err := filepath.Glob(filepath.Join(dir, "class *", "0.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("no image"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{2, len(paths)} {
		c.Data.MaxBad = most
		var skipped []int
		var want []string
		for _, size := range []int{1, 4} {
			folder := run.Folder(filepath.Join(t.TempDir(), "run"))
			err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
				err := s.Train(t.Context())
				if s.lead() && err == nil {
					for _, r := range s.state.History {
						skipped = append(skipped, r.Skipped)
					}
				}
				return err
			})
			if most == 2 {
				if err == nil || !strings.Contains(err.Error(), "unreadable images") || !strings.Contains(err.Error(), "at most 2 are skipped") {
					t.Errorf("%d ranks: %v", size, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d ranks: %v", size, err)
			}
			if got := bytesOf(t, folder); want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%d ranks: %v, want %v", size, got, want)
			}
		}
		if n := len(skipped); most > 2 && (n == 0 || !slices.Equal(skipped[:n/2], skipped[n/2:]) || slices.Max(skipped) == 0) {
			t.Errorf("skipped %v", skipped)
		}
	}
}

func TestWhatRanksCannotTrainIsRefused(t *testing.T) {
	for want, change := range map[string]func(*run.Config){
		"a batch of 15 images cannot be divided evenly among 4 ranks: take 12 or 16": func(c *run.Config) { c.ClassesPerBatch, c.ImagesPerClass = 3, 5 },
		"parts of 3 images do not fill a batch of 16":                                func(c *run.Config) { c.MicroBatch = 3 },
		"with parts of 8 images of a batch of 16, 2 parts cannot be divided evenly":  func(c *run.Config) { c.MicroBatch = 8 },
		"would hold 3 of 12 parts, which is not a power of two":                      func(c *run.Config) { c.ImagesPerClass, c.MicroBatch = 3, 1 },
	} {
		c := ranksConfig(t)
		change(&c)
		err := onRanks(t, 4, starting(t, c, run.Folder(filepath.Join(t.TempDir(), "run"))), func(*Session) error { return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	// Parts that nobody named are the ranks' shares.
	c := ranksConfig(t)
	c.MicroBatch, c.Steps = 0, 2
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	if err := onRanks(t, 4, starting(t, c, folder), func(s *Session) error { return s.Train(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	if stored, err := folder.LoadConfig(); err != nil || stored.MicroBatch != 4 {
		t.Errorf("micro-batches of %d, %v; want 4", stored.MicroBatch, err)
	}
	// A run of one process in one graph has no parts.
	c.Steps = 4
	one := begin(t, c)
	one.Close()
	if err := onRanks(t, 2, resuming(t, one.folder), func(*Session) error { return nil }); err == nil || !strings.Contains(err.Error(), "in one process") {
		t.Errorf("got %v", err)
	}
}

// Ranks that have other settings or other images do not begin.
func TestRanksThatDifferDoNotBegin(t *testing.T) {
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	c := ranksConfig(t)
	err := onRanks(t, 2, func(opt Options, rank int) (*Session, error) {
		own := c
		own.Optimizer.Rate *= float64(1 + rank)
		return starting(t, own, folder)(opt, rank)
	}, func(*Session) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "rank 1 (") || !strings.Contains(err.Error(), ": the settings are not those of rank 0: ...") || !strings.Contains(err.Error(), `"rate":0.002`) {
		t.Errorf("got %v", err)
	}
	other := ranksConfig(t)
	err = onRanks(t, 2, func(opt Options, rank int) (*Session, error) {
		return starting(t, []run.Config{c, other}[rank], folder)(opt, rank)
	}, func(*Session) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "rank 1 (") || !strings.Contains(err.Error(), " are not those of rank 0: ") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(string(folder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that never began has left a folder (%v)", err)
	}
}
