package train

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSpeedIsThatOfStepsAndTheRunsEndIncludesMeasuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		if p.each() != 0 || p.left(5, 2) != 0 {
			t.Errorf("before any step: %v, %v", p.each(), p.left(5, 2))
		}
		time.Sleep(time.Minute) // the first step, which allocates, does not count
		p.step()
		for range 4 {
			time.Sleep(2 * time.Second)
			p.step()
		}
		start := time.Now()
		time.Sleep(30 * time.Second)
		p.epochEnded(start)
		start = time.Now()
		time.Sleep(10 * time.Second)
		p.spent(start)
		if p.each() != 2*time.Second {
			t.Errorf("a step takes %v, want 2s", p.each())
		}
		if want := 6*time.Second + 2*40*time.Second; p.left(3, 2) != want {
			t.Errorf("3 steps and 2 epochs' ends take %v, want %v", p.left(3, 2), want)
		}
	})
}
