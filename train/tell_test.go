package train

import (
	"strings"
	"testing"
)

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
