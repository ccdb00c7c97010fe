package mpitest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Required, in the environment, makes a launcher that is not installed a failure. Without
// it a test that needs one is skipped.
const Required = "VERNIER_REQUIRE_MPI"

// limit is the time after which processes of a test are ended.
const limit = 2 * time.Minute

// Launcher starts processes.
type Launcher struct {
	Name    string // Open MPI or MPICH
	command []string
	rank    string // the variable that tells a process its rank
	debian  string // its package
}

// Launchers returns those that are installed, each to be used by a test of its own. The
// test is skipped if there are none.
func Launchers(t *testing.T) (list []Launcher) {
	t.Helper()
	for _, l := range []Launcher{
		// A container's user is root, and a small machine has fewer cores than processes.
		{"Open MPI", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"}, "OMPI_COMM_WORLD_RANK", "openmpi-bin"},
		{"MPICH", []string{"mpiexec.hydra"}, "PMI_RANK", "mpich"},
	} {
		if _, err := exec.LookPath(l.command[0]); err == nil {
			list = append(list, l)
		} else if os.Getenv(Required) != "" {
			t.Fatalf("%s is set, and %s is not installed (Debian: apt install %s)", Required, l.command[0], l.debian)
		}
	}
	if len(list) == 0 {
		t.Skip("neither mpirun.openmpi nor mpiexec.hydra is installed (Debian: apt install openmpi-bin mpich)")
	}
	return list
}

// Rank is that of this process, which a launcher has started; -1 without a launcher.
func Rank() int {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK"} {
		if rank, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return rank
		}
	}
	return -1
}

// Group is a launcher at work and the processes it has started.
type Group struct {
	launcher Launcher
	cmd      *exec.Cmd
	output   bytes.Buffer
	mark     string // in the environment of all of them
	timer    *time.Timer
}

// Start starts size processes of this test's own program with arguments, and with
// variables in the environment. What is left of them after two minutes, or after the test,
// is killed.
func (l Launcher) Start(t *testing.T, size int, variables []string, args ...string) *Group {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := append(slices.Clone(l.command), "-n", strconv.Itoa(size), own)
	g := &Group{launcher: l, cmd: exec.Command(command[0], append(command[1:], args...)...), mark: "VERNIER_MPI_TEST_GROUP=" + t.TempDir()}
	g.cmd.Env = append(append(os.Environ(), variables...), g.mark)
	g.cmd.Stdout, g.cmd.Stderr = &g.output, &g.output
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.timer = time.AfterFunc(limit, g.kill)
	t.Cleanup(g.kill)
	return g
}

// Wait waits for the launcher's end, and returns what all processes have written.
func (g *Group) Wait() (output string, err error) {
	err = g.cmd.Wait()
	if !g.timer.Stop() {
		err = fmt.Errorf("killed after %v: %w", limit, err)
	}
	return g.output.String(), err
}

// Kill kills the process of a rank and returns its number. It is an error if it is not
// there.
func (g *Group) Kill(rank int) (pid int, err error) { return g.SignalRank(rank, syscall.SIGKILL) }

// SignalRank sends a signal to the process of a rank and returns its number. It is an error
// if it is not there.
func (g *Group) SignalRank(rank int, s syscall.Signal) (pid int, err error) {
	for _, pid := range g.find(fmt.Sprintf("%s=%d", g.launcher.rank, rank)) {
		return pid, syscall.Kill(pid, s)
	}
	return 0, fmt.Errorf("no process is rank %d under %s", rank, g.launcher.Name)
}

// Signal sends a signal to the launcher, which passes some on to all processes.
func (g *Group) Signal(s os.Signal) error { return g.cmd.Process.Signal(s) }

func (g *Group) kill() {
	for _, pid := range g.find(g.mark) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// find returns the processes of the group that have a variable in their environment. They
// need not be children or of one process group: launchers start some through daemons.
func (g *Group) find(variable string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended, or be another user's
		if all := strings.Split(string(text), "\x00"); !slices.Contains(all, g.mark) || !slices.Contains(all, variable) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
