//go:build linux && cgo && (mpi || gpu)

package comm

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/internal/mpitest"
)

// childVariable makes the test's own program a rank that does what it says.
const childVariable = "VERNIER_MPI_TEST"

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		os.Exit(child(what))
	}
	os.Exit(m.Run())
}

// launch runs size ranks of this program.
func launch(t *testing.T, launcher mpitest.Launcher, size int, what string) (output string, err error) {
	t.Helper()
	return launcher.Start(t, size, []string{childVariable + "=" + what}).Wait()
}

// child is a rank.
func child(what string) int {
	c, err := Open(Options{Timeout: 3 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	last := c.Rank() == c.Size()-1
	switch {
	case what == "work":
		err = everything(c)
	case what == "signals":
		err = handlers(c)
	case !last:
		err = c.Sum(make([]float32, 10)) // for a rank that never comes
	case what == "error":
		err = errors.New("image 7 is unreadable")
	case what == "panic":
		var p *int
		*p = 1
	case what == "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case what == "leave":
	case what == "other":
		err = c.Sum(make([]float32, 11))
	case what == "hang":
		time.Sleep(time.Minute)
	case what == "exit":
		os.Exit(0)
	}
	if err != nil {
		c.Abort(err)
	}
	if err := c.Close(); err != nil {
		return 4
	}
	fmt.Printf("rank %d is done\n", c.Rank())
	return 0
}

// everything calls all collectives, of many sizes, and checks the results.
func everything(c Comm) error {
	for i, n := range []int{0, 1, 2, 3, 1000, piece - 1, piece, piece + 1, 2*piece + 7} {
		parts := make([][]float32, c.Size())
		for k := range parts {
			parts[k] = numbers(n, uint64(100*i+k))
		}
		x := slices.Clone(parts[c.Rank()])
		Tree(parts)
		if err := c.Sum(x); err != nil {
			return err
		}
		if !slices.Equal(x, parts[0]) {
			return fmt.Errorf("a sum of %d numbers is not that of the tree", n)
		}
	}
	total, first := 0, 0
	for k := range c.Size() {
		if k == c.Rank() {
			first = total
		}
		total += k * 1000
	}
	all := numbers(total, 7)
	got := make([]float32, total)
	if err := c.GatherRows(got, all[first:first+1000*c.Rank()]); err != nil || !slices.Equal(got, all) {
		return fmt.Errorf("rows: %v", err)
	}
	lists, err := GatherInts(c, make([]int, 3*c.Rank()))
	for k, list := range lists {
		if len(list) != 3*k {
			err = errors.Join(err, fmt.Errorf("rank %d has %d numbers", k, len(list)))
		}
	}
	if err != nil || len(lists) != c.Size() {
		return fmt.Errorf("%d lists, %v", len(lists), err)
	}
	for root := range c.Size() {
		x := slices.Repeat([]byte{byte(c.Rank())}, 5*piece+root)
		if err := c.Broadcast(x, root); err != nil || slices.Min(x) != byte(root) || slices.Max(x) != byte(root) {
			return fmt.Errorf("a broadcast from rank %d: %v", root, err)
		}
	}
	if any, err := Any(c, c.Rank() == c.Size()-1); err != nil || !any {
		return fmt.Errorf("any: %v, %v", any, err)
	}
	if err := c.GatherRows(make([]float32, 1), nil); err == nil || !strings.Contains(err.Error(), "the destination has 1 numbers") {
		return fmt.Errorf("a destination that is too large: %v", err)
	}
	return c.Barrier()
}

// handlers finds Go's handlers of signals in their place: a nil pointer is a panic that
// can be recovered, and signals arrive.
func handlers(c Comm) (err error) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	select {
	case <-got:
	case <-time.After(2 * time.Second):
		return errors.New("SIGUSR1 does not arrive")
	}
	func() {
		defer func() {
			if recover() == nil {
				err = errors.New("a nil pointer is no panic")
			}
		}()
		var p *int
		*p = 1
	}()
	return errors.Join(err, c.Barrier())
}

func TestProcessesOverMPIDoWhatGoroutinesDo(t *testing.T) {
	for _, launcher := range mpitest.Launchers(t) {
		for _, size := range []int{1, 2, 3, 4} {
			for _, what := range []string{"work", "signals"} {
				out, err := launch(t, launcher, size, what)
				if err != nil || strings.Count(out, "is done") != size {
					t.Errorf("%s, %d processes, %s: %v\n%s", launcher.Name, size, what, err, out)
				}
			}
		}
	}
}

// Whatever a rank does, all end within seconds, and unless it is killed or exits a line
// names a rank and its host.
func TestAProcessThatFailsEndsAll(t *testing.T) {
	for _, launcher := range mpitest.Launchers(t) {
		for what, want := range map[string]string{
			"error": fmt.Sprintf("rank 1 (%s): image 7 is unreadable", host()),
			"panic": "invalid memory address or nil pointer dereference",
			"kill":  "",
			"leave": fmt.Sprintf("rank 1 (%s): it is at the end, rank 0 is at a sum of 10 numbers\n", host()),
			"hang":  fmt.Sprintf("rank 1 (%s): rank 0 has waited 3s for it in a sum of 10 numbers: it hangs, or has ended\n", host()),
			"other": fmt.Sprintf("rank 1 (%s): it is at a sum of 11 numbers, rank 0 is at a sum of 10 numbers\n", host()),
			"exit":  "",
		} {
			start := time.Now()
			out, err := launch(t, launcher, 2, what)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s, %s: it took %v", launcher.Name, what, took)
			}
			// Of a process that exits with 0 MPICH's launcher says nothing.
			if err == nil && !(what == "exit" && launcher.Name == "MPICH") || !strings.Contains(out, want) || strings.Contains(out, "is done") {
				t.Errorf("%s, %s: %v, want %q in\n%s", launcher.Name, what, err, want, out)
			}
		}
	}
}

// A library of another family is noticed: each process would believe that it is alone.
func TestALibraryOfAnotherFamilyIsRefused(t *testing.T) {
	list := mpitest.Launchers(t)
	if len(list) < 2 {
		t.Skip("one launcher is installed")
	}
	for _, launcher := range list {
		name, other := launcher.Name, map[string]string{"Open MPI": "libmpich.so.12", "MPICH": "libmpi.so.40"}[launcher.Name]
		t.Setenv(PathVariable, other)
		out, err := launch(t, launcher, 2, "work")
		if err == nil || !strings.Contains(out, "of another family than the launcher") {
			t.Errorf("%s with %s: %v\n%s", name, other, err, out)
		}
		t.Setenv(PathVariable, "libnothing.so")
		if out, err := launch(t, launcher, 2, "work"); err == nil || !strings.Contains(out, "no library of MPI can be loaded: libnothing.so") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
