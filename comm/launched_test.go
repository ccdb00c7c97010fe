package comm

import (
	"slices"
	"strings"
	"testing"
)

func TestLaunchersAreKnownByTheirVariables(t *testing.T) {
	for _, c := range []struct {
		env       map[string]string
		by, first string // the variable, the first library
	}{
		{nil, "", "libmpi.so.40"},
		{map[string]string{"OMPI_COMM_WORLD_SIZE": "2"}, "OMPI_COMM_WORLD_SIZE", "libmpi.so.40"},
		{map[string]string{"PMI_SIZE": "2", "PMI_FD": "7"}, "PMI_SIZE", "libmpi.so.12"},
		{map[string]string{"PMIX_RANK": "0", PathVariable: "own.so"}, "PMIX_RANK", "own.so"},
		{map[string]string{"SLURM_NTASKS": "4", "SLURM_PROCID": "1", "SLURM_STEP_ID": "0"}, "SLURM_NTASKS", "libmpi.so.40"},
		{map[string]string{"SLURM_NTASKS": "4"}, "", "libmpi.so.40"}, // in the script, not under srun
		{map[string]string{"SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, "", "libmpi.so.40"},
	} {
		env := func(name string) string { return c.env[name] }
		if got := launched(env); got != c.by {
			t.Errorf("%v: started by %q, want %q", c.env, got, c.by)
		}
		if got := libraries(env); got[0] != c.first || slices.Contains(got, "libmpi.so.12") && c.by == "OMPI_COMM_WORLD_SIZE" {
			t.Errorf("%v: libraries %v, want %s first", c.env, got, c.first)
		}
	}
	env := func(name string) string { return map[string]string{"PMI_SIZE": "2"}[name] }
	if err := checkSize(env, 2, "MPICH"); err != nil {
		t.Error(err)
	}
	if err := checkSize(env, 1, "Open MPI"); err == nil || !strings.Contains(err.Error(), "the launcher started 2 processes, and the library of MPI sees 1 (Open MPI)") {
		t.Errorf("got %v", err)
	}
}

func TestLaunchedCountsProcesses(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_FD", "PMIX_RANK", "SLURM_STEP_ID"} {
		t.Setenv(name, "")
	}
	if n := Launched(); n != 1 {
		t.Errorf("%d processes without a launcher", n)
	}
	t.Setenv("PMI_FD", "7")
	if n := Launched(); n != 1 {
		t.Errorf("%d processes, of which nothing is known", n)
	}
	t.Setenv("PMI_SIZE", "3")
	if n := Launched(); n != 3 {
		t.Errorf("%d processes, want 3", n)
	}
}

// A program without MPI that a launcher starts is refused, or joins: it never runs alone.
func TestAProgramUnderALauncherNeverRunsAlone(t *testing.T) {
	t.Setenv(PathVariable, "libnothing.so")
	t.Setenv("PMI_SIZE", "2")
	c, err := Open(Options{})
	if err == nil || !strings.Contains(err.Error(), "a launcher started this as one of several processes") {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestAProgramWithoutALauncherIsAlone(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_FD", "PMIX_RANK", "SLURM_STEP_ID"} {
		t.Setenv(name, "")
	}
	if c, err := Open(Options{}); err != nil || c != (Single{}) {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestTheNumberOfAProcessOnItsHost(t *testing.T) {
	for want, env := range []map[string]string{
		{"OMPI_COMM_WORLD_LOCAL_RANK": "3"}, // no launcher
		{"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
		{"PMI_SIZE": "4", "MPI_LOCALRANKID": "2"},
		{"PMIX_RANK": "7", "SLURM_LOCALID": "3"},
	} {
		if got := localRank(func(name string) string { return env[name] }); got != want {
			t.Errorf("%v: %d, want %d", env, got, want)
		}
	}
}
