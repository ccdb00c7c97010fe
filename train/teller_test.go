package train

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

// What goes wrong in every epoch is said in the first and counted at the end.
func TestAWarningOfAKindIsSaidOnceAndCountedAtTheEnd(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 2))
	c.WarmupEpochs, c.Epochs, c.Loss = 0, 5, run.LossConfig{Name: "triplet"}
	c.Sampler, c.BatchSize = "random", 2
	s, l := heard(t, c)
	cause, count := 0, 0
	for _, r := range s.state.History {
		if r.Idle > .5 {
			cause++
		}
	}
	for _, w := range l.warnings {
		if strings.Contains(w, "no pair was active") {
			count++
		}
	}
	if cause != 5 || count > 4 || !says(l.warnings, "epochs, from") {
		t.Errorf("%d epochs had cause, it was said %d times: %q", cause, count, l.warnings)
	}
}

func TestWarningsOfUnreadableImagesFollowTheirNumber(t *testing.T) {
	l := &listening{}
	s := newSession(run.Config{}, "", Options{Events: l})
	for epoch, skipped := range []int{0, 2, 2, 2, 3, 3} {
		s.teller.warn(run.EpochRecord{Epoch: epoch + 1, Skipped: skipped, DistanceMean: 1, DistanceStd: 1}, 4, health{})
	}
	s.teller.summarize()
	if len(l.warnings) != 2 || !strings.Contains(l.warnings[0], "2 images") || !strings.Contains(l.warnings[1], "3 images") {
		t.Errorf("said %q", l.warnings)
	}
}

func TestTheSummaryCountsEpochsOfAKind(t *testing.T) {
	l := &listening{}
	s := newSession(run.Config{}, "", Options{Events: l})
	for epoch, idle := range []int{4, 0, 4, 4, 1} {
		s.teller.warn(run.EpochRecord{Epoch: epoch + 1, DistanceMean: 1, DistanceStd: 1}, 4, health{Idle: idle})
	}
	s.teller.summarize()
	want := "no pair was active in any step in 3 epochs, from 1 to 4"
	if len(l.warnings) != 2 || !slices.Contains(l.warnings, want) {
		t.Errorf("said %q, want %q at the end", l.warnings, want)
	}
}

// A run of short epochs shows no line of progress within one.
func TestLinesOfEpochsSayWhenTheRunEnds(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Epochs = 3
	_, l := heard(t, c)
	epochs := 0
	for _, line := range l.said {
		if strings.HasPrefix(line, "epoch ") {
			epochs++
			if last := strings.HasPrefix(line, "epoch 3/3"); strings.Contains(line, "training ends in ") == last {
				t.Errorf("%q", line)
			}
		}
	}
	if epochs != 3 {
		t.Errorf("%d lines of epochs: %q", epochs, l.said)
	}
}
