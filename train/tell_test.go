package train

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// telling keeps what is said.
type telling struct {
	silent
	said *[]string
}

func (l telling) Say(format string, a ...any) { *l.said = append(*l.said, fmt.Sprintf(format, a...)) }

// A run of short epochs shows no line of progress within one.
func TestLinesOfEpochsSayWhenTheRunEnds(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Epochs = 3
	var said []string
	s, err := Start(t.Context(), c, Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: telling{said: &said}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	epochs := 0
	for _, line := range said {
		if strings.HasPrefix(line, "epoch ") {
			epochs++
			if last := strings.HasPrefix(line, "epoch 3/3"); strings.Contains(line, "training ends in ") == last {
				t.Errorf("%q", line)
			}
		}
	}
	if epochs != 3 {
		t.Errorf("%d lines of epochs: %q", epochs, said)
	}
}
