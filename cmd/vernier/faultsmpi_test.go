//go:build linux && cgo && (mpi || gpu)

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/internal/mpitest"
	"github.com/vernier-ml/vernier/run"
)

// oddRank, in the environment, makes rank 1 differ from the others or fail: it says what it
// does and, after a colon, with what.
const oddRank = "VERNIER_TEST_ODD_RANK"

func init() {
	what, with, _ := strings.Cut(os.Getenv(oddRank), ":")
	if what == "" || mpitest.Rank() != 1 {
		return
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	args := slices.Clone(os.Args)
	os.Unsetenv(oddRank)
	switch what {
	case "program":
		self = with
	case "kernels":
		os.Setenv(cpu.Variable, with)
	case "images":
		args[slices.Index(args, "--data")+1] = "folder:" + with
	case "hang": // the test stops it
		return
	default:
		go func() {
			awaitSteps(args[slices.Index(args, "--out")+1])
			if what == "panic" {
				panic("rank 1 breaks")
			}
			os.Exit(0)
		}()
		return
	}
	panic(syscall.Exec(self, args, os.Environ()))
}

// Whatever is wrong with a process, all end soon, and a line names it and its host. Nothing
// begins where processes differ; what has begun another number of processes continues, to the
// bytes of a run that was left alone.
func TestProcessesEndWithTheOneThatFails(t *testing.T) {
	launchers := mpitest.Launchers(t)
	data := clitest.Stripes(t, 12, 6)
	want := alone(t, data)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	rank1 := fmt.Sprintf(`(?m)^rank 1 \(%s\): `, regexp.QuoteMeta(host))
	short, _, _ := strings.Cut(host, ".")
	// What the launcher says of a process that ends with a code: MPICH's says nothing.
	ended := map[string]string{"Open MPI": `Process name: \[\[\d+,\d+\],1\]`}
	variants := cpu.Variants()
	for _, launcher := range launchers {
		for _, c := range []struct {
			what, with string
			size, then int
			line       string
		}{
			{"program", otherProgram(t), 2, 1, rank1 + `the bytes of the program are not those of rank 0: `},
			{"kernels", variants[len(variants)-1], 2, 1, rank1 + `the kernels are not those of rank 0: `},
			{"images", clitest.Stripes(t, 12, 7), 4, 2, rank1 + `the images are not those of rank 0: `},
			{"panic", "", 2, 1, `(?s)panic: rank 1 breaks.*` + ended[launcher.Name]},
			{"exit", "", 2, 1, map[string]string{"Open MPI": `process rank 1 with PID \d+ on\s+node ` + regexp.QuoteMeta(short), "MPICH": ""}[launcher.Name]},
			{"hang", "", 2, 1, rank1 + `rank 0 has waited 5s for it in .*: it hangs, or has ended$|(?m)^rank 0 .*: it has waited 8s in `},
		} {
			if c.what == "kernels" && len(variants) == 1 {
				continue // one kind of them on this machine
			}
			name := fmt.Sprintf("%s, %s of rank 1", launcher.Name, c.what)
			path := filepath.Join(t.TempDir(), "run")
			args := append(shared(data, path), "--timeout", "5s")
			group := launcher.Start(t, c.size, []string{asProgram + "=1", oddRank + "=" + c.what + ":" + c.with}, args...)
			if c.what == "hang" {
				awaitSteps(path)
				if _, err := group.SignalRank(1, syscall.SIGSTOP); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			failed := lastStep(path)
			out, err := group.Wait()
			silent := c.what == "exit" && launcher.Name == "MPICH" // whose launcher takes it for the end
			if took := time.Since(failed()); (err == nil) != silent || took > 10*time.Second {
				t.Errorf("%s: it ends after %v with %v", name, took, err)
			}
			if !regexp.MustCompile(c.line).MatchString(out) {
				t.Errorf("%s: want %q in\n%s", name, c.line, out)
			}
			began := slices.Contains([]string{"panic", "exit", "hang"}, c.what)
			if _, err := os.Stat(path); (err == nil) != began {
				t.Errorf("%s: the folder of the run: %v", name, err)
			}
			again := shared(data, path)
			if began {
				again = []string{"train", "--resume", path, "--quiet", "--no-cache", "--threads", "1", "--workers", "1", "--timeout", "30s"}
			}
			if out, err := launcher.Start(t, c.then, []string{asProgram + "=1"}, again...).Wait(); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			if got := sumsOf(t, path); got != want {
				t.Errorf("%s:\n%swant, as of a run that was left alone:\n%s", name, got, want)
			}
		}
	}
}

// lastStep watches the log of a run and returns when it last grew; before that the time of
// the call.
func lastStep(path string) func() time.Time {
	grew, size, stop := time.Now(), 0, make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			if log, _ := os.ReadFile(filepath.Join(path, run.LogFile)); len(log) > size {
				grew, size = time.Now(), len(log)
			}
		}
	}()
	return func() time.Time {
		close(stop)
		<-done
		return grew
	}
}

// otherProgram is this test's program with a byte more, which runs as it does.
func otherProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), filepath.Base(self))
	if err := os.WriteFile(other, bytes.Join([][]byte{program, {0}}, nil), 0o755); err != nil {
		t.Fatal(err)
	}
	return other
}
