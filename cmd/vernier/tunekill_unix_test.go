//go:build unix

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// A comparison that is killed ten times ends with the table of one that was left alone.
func TestAKilledComparisonEndsWithTheSameTable(t *testing.T) {
	file, dir := tuneFile(t, clitest.Stripes(t, 12, 6)), t.TempDir()
	args := func(out string) []string {
		return []string{"tune", file, "--out", filepath.Join(dir, out), "--threads", "1", "--no-cache"}
	}
	if code, _, stderr := vernier(t, args("alone")...); code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	r := rand.New(rand.NewPCG(3, 3))
	for kills := 0; ; {
		cmd, said := binary(t, args("killed")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		wait := time.Duration(200+r.IntN(400)) * time.Millisecond
		if kills >= 10 {
			wait = time.Hour
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v\n%s", kills, err, said)
			}
			t.Logf("%d kills", kills)
			if kills < 3 {
				t.Errorf("only %d kills", kills)
			}
		case <-time.After(wait):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended
			kills++
			continue
		}
		break
	}
	for _, name := range []string{"table.md", "best-brm.yaml", "best-cosine.yaml"} {
		want, err := os.ReadFile(filepath.Join(dir, "alone", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "killed", name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s\n%v", name, got, want, err)
		}
	}
}
