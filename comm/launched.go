package comm

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// PathVariable is the environment variable that names the library of MPI.
const PathVariable = "VERNIER_MPI_LIB"

// Options say how processes are connected.
type Options struct {
	// Timeout is the longest time that a rank waits for the others, after which all end;
	// 0 for no limit.
	Timeout time.Duration
}

// launched names the variable by which a launcher, such as mpirun or srun, tells a process
// that it is one of several, "" for none.
func launched(env func(string) string) string {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_FD", "PMIX_RANK"} {
		if env(name) != "" {
			return name
		}
	}
	if n := env("SLURM_NTASKS"); n != "" && n != "1" && env("SLURM_PROCID") != "" && env("SLURM_STEP_ID") != "" {
		return "SLURM_NTASKS"
	}
	return ""
}

// Launched returns the number of processes of which a launcher has started this one as one; 1
// without a launcher, and where that does not say.
func Launched() int {
	by := launched(os.Getenv)
	if n, err := strconv.Atoi(os.Getenv(by)); by != "" && by != "PMI_FD" && by != "PMIX_RANK" && err == nil {
		return max(1, n)
	}
	return 1
}

// LocalRank is the number of this process among those of its host that a launcher has
// started, from 0; 0 without a launcher.
func LocalRank() int { return localRank(os.Getenv) }

func localRank(env func(string) string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"} {
		if n, err := strconv.Atoi(env(name)); err == nil && n >= 0 && launched(env) != "" {
			return n
		}
	}
	return 0
}

// libraries are files of MPI, those of the launcher's family alone where it is known.
func libraries(env func(string) string) []string {
	open, mpich := []string{"libmpi.so.40", "libmpi.so.80"}, []string{"libmpi.so.12", "libmpich.so.12"}
	switch {
	case env(PathVariable) != "":
		return []string{env(PathVariable)}
	case env("OMPI_COMM_WORLD_SIZE") != "":
		return open
	case env("PMI_SIZE") != "" || env("PMI_FD") != "":
		return mpich
	}
	return append(open, mpich...)
}

// checkSize compares the number of processes that the launcher started with the number
// that the library sees: with the library of another family each process believes that
// it is alone.
func checkSize(env func(string) string, size int, name string) error {
	for _, variable := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"} {
		if want := env(variable); want != "" && variable == launched(env) && want != fmt.Sprint(size) {
			return fmt.Errorf("the launcher started %s processes, and the library of MPI sees %d (%s): it is of another family than the launcher; %s names a library", want, size, name, PathVariable)
		}
	}
	return nil
}
