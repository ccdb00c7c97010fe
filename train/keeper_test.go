package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// longer is a run of six epochs with validation classes, of which the best one is
// not the last.
func longer(t *testing.T) run.Config {
	c := smallConfig(t, shades(t, 12, 4))
	c.Data.Validation, c.Epochs, c.WarmupEpochs = .4, 6, 0
	return c
}

func runTo(t *testing.T, c run.Config, folder run.Folder, run run.Output, epochs int) *Session {
	t.Helper()
	c.Run = run
	s, err := Start(context.Background(), c, folder, newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	for range epochs {
		epoch(t, s)
	}
	return s
}

func TestTheLastEpochsAndTheBestKeepTheirCheckpoints(t *testing.T) {
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s := runTo(t, longer(t), folder, run.Output{Keep: 3}, 6)
	defer s.Close()
	kept, err := folder.KeptEpochs()
	if err != nil || !slices.Equal(kept, []int{4, 5, 6}) {
		t.Errorf("kept %v, %v", kept, err)
	}
	if entries, _ := filepath.Glob(folder.Path(".*")); len(entries) != 1 { // the lock
		t.Errorf("left behind: %v", entries)
	}
	f, err := weights.Open(folder.Path(run.BestCheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want := fmt.Sprintf(`"position":{"epoch":%d,"batch":0}`, s.state.BestEpoch); !strings.Contains(f.Metadata()[run.StateKey], want) {
		t.Errorf("the best checkpoint is not of epoch %d: %s", s.state.BestEpoch, f.Metadata()[run.StateKey])
	}
}

// Of epochs that are equally good the first is the best, before a run is resumed and
// after.
func TestAmongEqualEpochsTheFirstIsTheBest(t *testing.T) {
	c := longer(t)
	c.Optimizer.Rate, c.Freeze.BNStats = 0, true // nothing changes
	s := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 3)
	s.Close()
	r := resumeToEnd(t, s)
	defer r.Close()
	for i, e := range r.state.History {
		if e.Best != (i == 0) || e.MAPAtR != r.state.History[0].MAPAtR {
			t.Errorf("epoch %d: best %v, MAP@R %v", e.Epoch, e.Best, e.MAPAtR)
		}
	}
	if _, stored, err := r.folder.LoadModel(newTestEngine(t), run.Best); err != nil || stored != 1 || r.state.BestEpoch != 1 {
		t.Errorf("the best model is of epoch %d (%v), the state says %d", stored, err, r.state.BestEpoch)
	}
}

// From whichever checkpoint a run continues, it ends as the one that never stopped.
func TestARunGoesOnFromTheBestOrAnEarlierEpoch(t *testing.T) {
	c := longer(t)
	straight := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 6)
	defer straight.Close()
	want := all(t, straight)
	for _, from := range []string{run.FromBest, "3", "5", "latest"} {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		s := runTo(t, c, folder, run.Output{Keep: 6}, 5)
		best := s.state.BestEpoch
		if err := folder.WriteFile(run.ResultsFile, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		s.Close()
		r, err := Resume(context.Background(), folder, newTestEngine(t), Options{Workers: 1, Events: silent{}, From: from})
		if err != nil {
			t.Fatalf("from %s: %v", from, err)
		}
		if at := r.state.Position.Epoch; from == run.FromBest && at != best || from == "3" && at != 3 || len(r.state.History) != at {
			t.Errorf("from %s: at epoch %d, with %d in its history", from, at, len(r.state.History))
		}
		if kept, err := folder.KeptEpochs(); err != nil || len(kept) != r.state.Position.Epoch {
			t.Errorf("from %s: kept %v, %v", from, kept, err)
		}
		if err := r.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		for name, v := range all(t, r) {
			if !slices.Equal(v, want[name]) {
				t.Errorf("from %s: %s differs", from, name)
			}
		}
		r.Close()
	}
}

func TestACheckpointThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s := runTo(t, longer(t), folder, run.Output{Keep: 2}, 3)
	s.Close()
	for from, want := range map[string]string{"1": "the latest, the best, 2, 3", "first": "not from", "-1": "not from"} {
		if _, err := Resume(context.Background(), folder, newTestEngine(t), Options{Events: silent{}, From: from}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("from %s: %v, want %q", from, err, want)
		}
	}
}

func TestARunEndedBeforeItsFirstCheckpointBeginsAnew(t *testing.T) {
	c := longer(t)
	straight := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 1)
	defer straight.Close()
	s := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 0)
	s.Close()
	for _, name := range []string{run.CheckpointFile, run.LastFile, run.BestFile, run.HistoryFile} {
		if err := os.Remove(s.folder.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	// What a killed process was writing lies there too.
	if err := os.WriteFile(s.folder.Path("."+run.LastFile+"1234567890123456789"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := resume(t, s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if left, _ := filepath.Glob(s.folder.Path("." + run.LastFile + "*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	epoch(t, r)
	want, got := all(t, straight), all(t, r)
	for name := range want {
		if !slices.Equal(want[name], got[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestACheckpointIsWrittenAfterATimeWithinAnEpoch(t *testing.T) {
	c := longer(t)
	s := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.Output{Keep: 1, SaveEvery: 1}, 0)
	defer s.Close()
	var seen []string
	s.keeper.write = func(path string, ts []*weights.Tensor, meta map[string]string) error {
		seen = append(seen, meta[run.StateKey])
		return weights.WriteSafetensors(path, ts, meta)
	}
	epoch(t, s)
	if want := s.sampler.Batches(); want < 2 || len(seen) != want || !strings.Contains(seen[0], `"position":{"epoch":0,"batch":1}`) {
		t.Errorf("%d checkpoints in %d steps: %v", len(seen), want, seen)
	}
}

// A disk that fills up leaves the checkpoint before, from which the run continues to
// where it would have come.
func TestAFullDiskLeavesThePreviousCheckpointWhole(t *testing.T) {
	c := longer(t)
	straight := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 6)
	defer straight.Close()
	s := runTo(t, c, run.Folder(filepath.Join(t.TempDir(), "run")), run.DefaultOutput(), 2)
	before, err := os.ReadFile(s.folder.Path(run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	s.keeper.write = func(path string, ts []*weights.Tensor, meta map[string]string) error {
		// Half of it arrives, under the temporary name.
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"99"), make([]byte, 100), 0o600); err != nil {
			return err
		}
		return &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
	}
	err = s.Train(context.Background())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"the disk is full", "MiB are free", run.CheckpointFile, "stays and is whole"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	s.Close()
	after, err := os.ReadFile(s.folder.Path(run.CheckpointFile))
	if err != nil || !slices.Equal(before, after) {
		t.Fatalf("the checkpoint changed: %v", err)
	}
	continueTo(t, s, all(t, straight))
}

// resumeToEnd resumes a run and trains it to its last epoch; the caller closes it.
func resumeToEnd(t *testing.T, s *Session) *Session {
	t.Helper()
	r, err := resume(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Train(context.Background()); err != nil {
		r.Close()
		t.Fatal(err)
	}
	return r
}

// continueTo resumes a run and compares what it comes to.
func continueTo(t *testing.T, s *Session, want map[string][]float32) {
	t.Helper()
	r := resumeToEnd(t, s)
	defer r.Close()
	got := all(t, r)
	for name := range want {
		if !slices.Equal(want[name], got[name]) {
			t.Errorf("%s differs from that of a run that never stopped", name)
		}
	}
}
