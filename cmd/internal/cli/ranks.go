package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vernier-ml/vernier/comm"
)

// RankFlags are the flags of commands that work as several processes under a launcher, such
// as mpirun.
type RankFlags struct{ timeout time.Duration }

// shared annotates a flag of a command, or the command, whose processes share work.
const shared = "shared"

// SharesWork says that processes which a launcher has started may run the command, by sharing
// work through files.
func SharesWork(cmd *cobra.Command) { cmd.Annotations = map[string]string{shared: "through files"} }

// checkLaunched refuses a command that several processes would do several times.
func checkLaunched(cmd *cobra.Command, processes int) error {
	timeout := cmd.Flags().Lookup("timeout")
	switch {
	case processes < 2 || cmd.Annotations[shared] != "" || timeout != nil && timeout.Annotations[shared] != nil:
		return nil
	case slices.Contains([]string{"doctor", "version", "help", "man"}, cmd.Name()):
		return nil
	}
	return worksAsOne(cmd, processes)
}

// WorksAsOne refuses what several processes would do several times, in a command of which
// they share other work.
func WorksAsOne(cmd *cobra.Command) error {
	if n := comm.Launched(); n > 1 {
		return worksAsOne(cmd, n)
	}
	return nil
}

func worksAsOne(cmd *cobra.Command, processes int) error {
	return Usagef("a launcher has started this as one of %d processes, and %q works as one: start it without the launcher", processes, cmd.CommandPath())
}

// Add adds the flags.
func (f *RankFlags) Add(fl *pflag.FlagSet) {
	fl.DurationVar(&f.timeout, "timeout", 30*time.Minute, "under mpirun or srun, the longest time that a process waits for the others, after which all end; 0 for no limit")
	if err := fl.SetAnnotation("timeout", shared, []string{"over MPI"}); err != nil {
		panic(err) // the flag is not there
	}
}

// Timeout is the longest time that a process waits for the others; 0 for no limit.
func (f *RankFlags) Timeout() time.Duration { return f.timeout }

// Run does work as one process, or as one of several that a launcher has started. Of these
// rank 0 alone logs and prints. An error of one ends all, with one line that names it.
func (f *RankFlags) Run(cmd *cobra.Command, log *logrus.Logger, work func(ranks comm.Comm) error) error {
	ranks, err := comm.Open(comm.Options{Timeout: f.timeout})
	if err != nil {
		return err
	}
	if ranks.Size() == 1 {
		return errors.Join(work(ranks), ranks.Close())
	}
	if ranks.Rank() > 0 {
		log.SetLevel(logrus.ErrorLevel)
		cmd.SetOut(io.Discard)
	}
	if err = sayPlaces(ranks, log); err == nil {
		err = sameProgram(ranks)
	}
	if err == nil {
		err = guarded(ranks, work)
	}
	if err != nil && !errors.Is(err, comm.ErrStopped) {
		if p := new(comm.PanicError); errors.As(err, &p) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", p.Stack)
		}
		ranks.Abort(err)
		return err
	}
	if left := ranks.Close(); err == nil || left != nil {
		return left
	}
	if ranks.Rank() > 0 { // rank 0 says that they were stopped
		return nil
	}
	return err
}

// guarded does work; a panic is an error, so that a line names the rank.
func guarded(ranks comm.Comm, work func(comm.Comm) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &comm.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return work(ranks)
}

// sameProgram makes sure that all processes run one program, to the byte: another one may
// compute something else.
func sameProgram(ranks comm.Comm) error {
	own, err := os.Open("/proc/self/exe") // even where the file has been replaced since; MPI is for Linux
	if err != nil {
		return err
	}
	defer own.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, own); err != nil {
		return fmt.Errorf("reading the program: %w", err)
	}
	return comm.Same(ranks, "the bytes of the program", fmt.Appendf(nil, "%s (SHA-256 %x...)", Version(), sum.Sum(nil)[:8]))
}

// sayPlaces says which rank is which process on which host, so that one that hangs or is
// slow can be found.
func sayPlaces(ranks comm.Comm, log *logrus.Logger) error {
	places, err := comm.Places(ranks)
	for _, place := range places {
		log.Info(place)
	}
	return err
}

// Alone lets rank 0 do what is to be done once, such as writing a file. Its error is that
// of all.
func Alone(ranks comm.Comm, do func() error) error {
	_, err := comm.FromLead(ranks, func() (struct{}, error) { return struct{}{}, do() })
	return err
}
