package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
