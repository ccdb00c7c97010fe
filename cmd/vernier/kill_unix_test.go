//go:build unix

package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// binary is a command line of the binary in a process of its own.
func binary(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, said
}

// survive starts a run and continues with it until it is done, killing up to kills
// processes at random moments, none after more than the given time. It returns
// how many it killed.
func survive(t *testing.T, args []string, folder string, kills int, most time.Duration, r *rand.Rand) (done int) {
	t.Helper()
	for {
		if _, err := os.Stat(filepath.Join(folder, "config.json")); err == nil {
			args = []string{"train", "--resume", folder, "--quiet", "--save-every", "20ms"}
		}
		cmd, said := binary(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		wait := time.Duration(r.Int64N(int64(most)))
		if done >= kills {
			wait = time.Hour
		}
		select {
		case err := <-ended:
			if err != nil {
				entries, _ := filepath.Glob(filepath.Join(folder, "*"))
				t.Fatalf("%v after %d kills: %v\n%s\n%v", args, done, err, said, entries)
			}
			return done
		case <-time.After(wait):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-ended
			done++
		}
	}
}

// TestAKilledRunEndsAsOneThatWasLeftAlone kills a run of six epochs with SIGKILL
// at random moments, continues with it, and compares its files byte for byte with
// those of a run that was left alone. VERNIER_KILLS asks for more kills than
// the usual few.
func TestAKilledRunEndsAsOneThatWasLeftAlone(t *testing.T) {
	const most = 400 * time.Millisecond
	kills := 4
	if text := os.Getenv("VERNIER_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("VERNIER_KILLS: %v", err)
		}
		kills = n
	}
	data := clitest.Stripes(t, 10, 8)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	more := []string{"--epochs", "6", "--loss", "proxy-anchor", "--warmup-epochs", "1", "--quiet", "--save-every", "20ms"}
	if code, _, errs := vernier(t, quick(data, whole, more...)...); code != cli.ExitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	r := rand.New(rand.NewPCG(5, uint64(kills)))
	done := 0
	for round := 0; done < kills; round++ {
		folder := filepath.Join(dir, "broken"+strconv.Itoa(round))
		n := survive(t, quick(data, folder, more...), folder, kills-done, most, r)
		done += n
		for _, f := range []string{"last.safetensors", "best.safetensors", "history.csv", "results.json"} {
			a, err := os.ReadFile(filepath.Join(whole, f))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(folder, f))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Errorf("%s differs after %d kills", f, n)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".*[0-9]")); left != nil {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Logf("%d kills", done)
}

func TestSignalsSaveAndExitWithTheirNumber(t *testing.T) {
	data := clitest.Stripes(t, 10, 8)
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		folder := filepath.Join(t.TempDir(), "run")
		cmd, said := binary(t, quick(data, folder, "--epochs", "500")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
			if text, _ := os.ReadFile(filepath.Join(folder, "log.jsonl")); bytes.Count(text, []byte("\n")) >= 2 {
				break
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		exit := new(exec.ExitError)
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(said.String(), "continue with: vernier train --resume") {
			t.Errorf("%v: %v, want exit %d\n%s", sig, err, code, said)
		}
	}
}
