package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/comm"
)

// Under a launcher a command runs several times only where its processes share the work.
func TestCommandsUnderALauncher(t *testing.T) {
	root := &cobra.Command{Use: "program"}
	over, through, alone, doctor := &cobra.Command{Use: "over"}, &cobra.Command{Use: "through"}, &cobra.Command{Use: "alone"}, &cobra.Command{Use: "doctor"}
	root.AddCommand(over, through, alone, doctor)
	new(RankFlags).Add(over.Flags())
	SharesWork(through)
	alone.Flags().Duration("timeout", 0, "of something else")
	for _, cmd := range []*cobra.Command{over, through, doctor} {
		if err := checkLaunched(cmd, 2); err != nil {
			t.Error(err)
		}
	}
	if err := checkLaunched(alone, 1); err != nil {
		t.Error(err)
	}
	if err := checkLaunched(alone, 2); err == nil || !strings.Contains(err.Error(), `as one of 2 processes, and "program alone" works as one`) {
		t.Errorf("got %v", err)
	}
}

// A panic of a rank ends all with one line that names it.
func TestAPanicOfARankIsItsError(t *testing.T) {
	err := comm.Local(3, func(c comm.Comm) error {
		return guarded(c, func(c comm.Comm) error {
			if c.Rank() == 2 {
				panic("no image")
			}
			return c.Barrier()
		})
	})
	p := new(comm.PanicError)
	if !errors.As(err, &p) || p.Value != "no image" || !strings.Contains(string(p.Stack), "TestAPanicOfARankIsItsError") {
		t.Fatalf("got %v", err)
	}
	if !strings.HasPrefix(err.Error(), "rank 2 (") || !strings.HasSuffix(err.Error(), "): panic: no image") {
		t.Errorf("got %v", err)
	}
}
