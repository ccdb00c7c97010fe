package vernier_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/run"
)

// recallOf returns the Recall@1 that a program of examples prints last.
func recallOf(t *testing.T, out string) (percent float64) {
	t.Helper()
	_, rest, ok := strings.Cut(out, "Recall@1 ")
	if _, err := fmt.Sscanf(rest, "%f%%", &percent); !ok || err != nil {
		t.Fatalf("printed no Recall@1:\n%s", out)
	}
	return percent
}

// Among 333 classes of 10 images the nearest is right by chance in 0.3% of the cases.
func runTrainExample(t *testing.T, p program) {
	folder := filepath.Join(t.TempDir(), "run")
	out := p.run(t, folder)
	if recall := recallOf(t, out); recall < 40 || recall > 100 || !strings.HasPrefix(out, "300 training classes (3000 images), 33 validation, 333 test classes") {
		t.Errorf("printed\n%s", out)
	}
	// Started again, it has nothing to train and measures the same.
	if again := p.run(t, folder); again != out {
		t.Errorf("started again it prints\n%s", again)
	}
}

func runCustomDataExample(t *testing.T, p program) {
	out := p.run(t, filepath.Join(t.TempDir(), "run"))
	if recall := recallOf(t, out); recall < 50 || !strings.HasPrefix(out, "9 training classes (108 images), 3 validation, 12 test classes (144 images)") {
		t.Errorf("printed\n%s", out)
	}
}

func runCustomBackboneExample(t *testing.T, p program) {
	out := p.run(t, filepath.Join(t.TempDir(), "run"))
	if recall := recallOf(t, out); recall < 2 || !strings.Contains(out, "from 0.25") || strings.Contains(out, "is 0.250,") {
		t.Errorf("printed\n%s", out)
	}
}

// A run with a loss of the program's own is killed in the middle of an epoch. The same
// command continues with it, and ends with the bytes of a run that was left alone.
func runCustomLossExample(t *testing.T, p program) {
	dir := t.TempDir()
	straight := run.Folder(filepath.Join(dir, "straight"))
	want := p.run(t, string(straight))
	if recall := recallOf(t, want); recall < 2 || !strings.HasPrefix(want, "cubed: ") {
		t.Errorf("printed\n%s", want)
	}
	killed := kill(t, p, dir, "cubed")
	if got := p.run(t, string(killed)); got != want {
		t.Errorf("after a kill it prints\n%swant\n%s", got, want)
	}
	for _, name := range []string{run.CheckpointFile, run.LastFile, run.BestFile, run.HistoryFile} {
		a, errA := os.ReadFile(straight.Path(name))
		b, errB := os.ReadFile(killed.Path(name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is another one after a kill: %v, %v", name, errA, errB)
		}
	}
	recallOf(t, p.run(t, filepath.Join(dir, "miner"), "second-closest"))
	refused := p.command(t.Context(), string(straight), "triplet")
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "loss.name: cubed in config.json, triplet now") {
		t.Errorf("with another loss: %v\n%s", err, out)
	}
}

// kill starts the program and kills it when it has taken steps of its second epoch.
func kill(t *testing.T, p program, dir string, args ...string) run.Folder {
	t.Helper()
	const steps, tries = 35, 5 // of 60
	for try := range tries {
		folder := run.Folder(filepath.Join(dir, fmt.Sprint("killed-", try)))
		ctx, stop := context.WithCancel(t.Context())
		cmd := p.command(ctx, append([]string{string(folder)}, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		ended := false
		for !ended {
			select {
			case <-done:
				ended = true
			case <-time.After(time.Millisecond):
				log, _ := os.ReadFile(folder.Path(run.LogFile)) // there is none at first
				if bytes.Count(log, []byte(`"event":"step"`)) >= steps {
					stop() // as kill -9 does
					<-done
					ended = true
				}
			}
		}
		stop()
		log, err := os.ReadFile(folder.Path(run.LogFile))
		if n := bytes.Count(log, []byte(`"event":"step"`)); err == nil && n >= steps && n < 60 {
			return folder
		}
	}
	t.Fatalf("in %d tries the program was never killed in its second epoch", tries)
	return ""
}
