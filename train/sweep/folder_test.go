package sweep

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func TestTheFolderOfARunIsNoneForASweep(t *testing.T) {
	_, jobs := smallSweep(t, "")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, run.ConfigFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := runner(t, dir, 1, &events{}).Run(t.Context(), jobs); !errors.Is(err, ErrRunFolder) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the run's folder now holds %v (%v)", entries, err)
	}
}

func TestRunsOfAnotherSweepAreToldOf(t *testing.T) {
	_, jobs := smallSweep(t, "")
	dir := t.TempDir()
	if err := runner(t, dir, 2, &events{}).Run(t.Context(), jobs[:2]); err != nil {
		t.Fatal(err)
	}
	ev := &events{}
	if err := runner(t, dir, 1, ev).Run(t.Context(), jobs[:3]); err != nil || len(ev.warned) != 0 {
		t.Errorf("a sweep that has grown: %v, %q", err, ev.warned)
	}
	ev = &events{}
	err := runner(t, dir, 1, ev).Run(t.Context(), jobs[1:3])
	if err != nil || len(ev.warned) != 1 || !strings.Contains(ev.warned[0], "1 run that") || !strings.Contains(ev.warned[0], jobs[0].Name) {
		t.Errorf("%v, %q", err, ev.warned)
	}
}

func TestResultLinesCountEveryRunOnce(t *testing.T) {
	_, jobs := smallSweep(t, "")
	jobs = jobs[:4]
	jobs[2].Config.Optimizer.Rate = 1e30 // diverges
	dir := t.TempDir()
	if err := runner(t, dir, 1, &events{}).Run(t.Context(), jobs[:1]); err != nil {
		t.Fatal(err)
	}
	ev := &events{}
	if err := runner(t, dir, 2, ev).Run(t.Context(), jobs); err == nil {
		t.Error("a rate of 1e30 went well")
	}
	var numbers []string
	for _, line := range append(ev.said, ev.warned...) {
		if number, _, ok := strings.Cut(line, "  "); ok && strings.HasSuffix(number, "/4") {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	if !slices.Equal(numbers, []string{"2/4", "3/4", "4/4"}) {
		t.Errorf("the lines count %q", numbers)
	}
}
