//go:build linux && cgo && (mpi || gpu)

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/internal/mpitest"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// shared is what the tests of several processes train: batches of four parts.
func shared(data, folder string) []string {
	return append([]string{"train", "--data", "folder:" + data, "--out", folder}, strings.Fields("--size 16 --dim 8 --epochs 10 --classes-per-batch 4 --images-per-class 2 --micro-batch 2 --freeze-bn-stats --validation 0.3 --no-cache --threads 1 --workers 1 --timeout 30s --save-every 50ms")...)
}

// alone trains as one process and returns the sums of the files that have to be equal.
func alone(t *testing.T, data string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "alone")
	cmd, said := binary(t, shared(data, folder)...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return sumsOf(t, folder)
}

func sumsOf(t *testing.T, folder string) (sums string) {
	t.Helper()
	for _, name := range []string{run.LastFile, run.BestFile, run.HistoryFile, run.ResultsFile} {
		sum, err := wholefile.Digest(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		sums += fmt.Sprintf("%s %s\n", sum, name)
	}
	return sums
}

// Processes under either launcher end with the bytes of one process, whether they are left
// alone or not.
func TestProcessesTrainTheModelOfOne(t *testing.T) {
	launchers := mpitest.Launchers(t)
	data := clitest.Stripes(t, 12, 6)
	want := alone(t, data)
	for _, launcher := range launchers {
		t.Run(launcher.Name, func(t *testing.T) {
			t.Run("undisturbed", func(t *testing.T) { undisturbed(t, launcher, data, want) })
			t.Run("killed", func(t *testing.T) { killed(t, launcher, data, want) })
			t.Run("told to stop", func(t *testing.T) { stopped(t, launcher, data, want) })
		})
	}
}

// Processes of a sweep share its runs through the folder, and what they cannot share is refused.
func TestProcessesShareASweep(t *testing.T) {
	launchers := mpitest.Launchers(t)
	data := clitest.Stripes(t, 12, 6)
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	text := "base: {data: {spec: 'folder:" + data + "', validation: 0.3}, epochs: 1, model: {dim: 8, input: {size: 16}}, classes_per_batch: 4, images_per_class: 2}\nseeds: 3\nrestarts: 2\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	sweep := func(out string) []string {
		return []string{"sweep", file, "--out", out, "--threads", "1", "--no-cache"}
	}
	table := func(out string) string {
		text, err := os.ReadFile(filepath.Join(out, "table.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	alone := filepath.Join(t.TempDir(), "alone")
	cmd, said := binary(t, sweep(alone)...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, launcher := range launchers {
		out := filepath.Join(t.TempDir(), "shared")
		if said, err := launcher.Start(t, 2, []string{asProgram + "=1"}, sweep(out)...).Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", launcher.Name, err, said)
		}
		if got, want := table(out), table(alone); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", launcher.Name, got, want)
		}
		said, err := launcher.Start(t, 2, []string{asProgram + "=1"}, "losses").Wait()
		if err == nil || !strings.Contains(said, `as one of 2 processes, and "vernier losses" works as one`) {
			t.Errorf("%s: %v\n%s", launcher.Name, err, said)
		}
	}
}

func undisturbed(t *testing.T, launcher mpitest.Launcher, data, want string) {
	for _, size := range []int{1, 2, 4} {
		folder := filepath.Join(t.TempDir(), "run")
		out, err := launcher.Start(t, size, []string{asProgram + "=1"}, shared(data, folder)...).Wait()
		if err != nil {
			t.Fatalf("%d processes: %v\n%s", size, err, out)
		}
		if got := sumsOf(t, folder); got != want {
			t.Errorf("%d processes:\n%swant, as of one process:\n%s", size, got, want)
		}
		if n := strings.Count(out, "raw pixels"); n != 1 {
			t.Errorf("%d processes: results are printed %d times\n%s", size, n, out)
		}
	}
}

// awaitSteps waits until a run has a few steps behind it.
func awaitSteps(path string) {
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		if log, _ := os.ReadFile(filepath.Join(path, run.LogFile)); bytes.Count(log, []byte("\n")) >= 3 {
			break
		}
	}
}

// SIGUSR1 to the launcher stops all processes behind the same step. Rank 0 says how to
// continue, and another number of processes ends with the bytes of a run that was left alone.
func stopped(t *testing.T, launcher mpitest.Launcher, data, want string) {
	path := filepath.Join(t.TempDir(), "stopped")
	group := launcher.Start(t, 2, []string{asProgram + "=1"}, append(shared(data, path), "--save-every", "0")...)
	awaitSteps(path)
	if err := group.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	out, err := group.Wait()
	if n := strings.Count(out, "stopped and saved; continue with: vernier train --resume "+path); n != 1 {
		t.Errorf("%v; how to continue is said %d times\n%s", err, n, out)
	}
	if _, err := os.Stat(filepath.Join(path, run.ResultsFile)); err == nil {
		t.Error("it was done before")
	}
	again := []string{"train", "--resume", path, "--quiet", "--no-cache", "--threads", "1", "--workers", "1", "--timeout", "30s"}
	if out, err := launcher.Start(t, 4, []string{asProgram + "=1"}, again...).Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := sumsOf(t, path); got != want {
		t.Errorf("%swant, as of a run that was left alone:\n%s", got, want)
	}
}

// When a process is killed all end soon, a line names it, and another number of processes
// continues to the bytes of a run that was left alone. MPICH's line names the host, and at
// times another process, which the launcher has ended itself.
func killed(t *testing.T, launcher mpitest.Launcher, data, want string) {
	folder := t.TempDir()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := strings.Cut(host, ".")
	for _, c := range []struct{ size, killed, then int }{{2, 1, 1}, {4, 0, 2}} {
		name := fmt.Sprintf("rank %d of %d is killed, then %d", c.killed, c.size, c.then)
		path := filepath.Join(folder, name)
		group := launcher.Start(t, c.size, []string{asProgram + "=1"}, shared(data, path)...)
		awaitSteps(path)
		pid, err := group.Kill(c.killed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		killed := time.Now()
		out, err := group.Wait()
		if took := time.Since(killed); err == nil || took > 10*time.Second {
			t.Errorf("%s: it ends after %v with %v", name, took, err)
		}
		for _, line := range []string{
			fmt.Sprintf(`rank %d is process %d on %s\n`, c.killed, pid, host),
			map[string]string{
				"Open MPI": fmt.Sprintf(`process rank %d with PID \d+ on node %s`, c.killed, short),
				"MPICH":    fmt.Sprintf(`PID \d+ RUNNING AT %s`, short),
			}[launcher.Name],
		} {
			if !regexp.MustCompile(line).MatchString(out) {
				t.Errorf("%s: want %q in\n%s", name, line, out)
			}
		}
		if _, err := os.Stat(filepath.Join(path, run.ResultsFile)); err == nil {
			t.Errorf("%s: it was done before", name)
		}
		again := []string{"train", "--resume", path, "--quiet", "--no-cache", "--threads", "1", "--workers", "1", "--timeout", "30s"}
		if out, err := launcher.Start(t, c.then, []string{asProgram + "=1"}, again...).Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if got := sumsOf(t, path); got != want {
			t.Errorf("%s:\n%swant, as of a run that was left alone:\n%s", name, got, want)
		}
	}
}
