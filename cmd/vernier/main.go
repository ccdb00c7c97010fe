// Command vernier learns, measures and exports metrics. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/bench"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Exit codes. An interrupted run exits with 128 plus the signal's number.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitDifferent = 3 // verify: the images are not of the same
)

// errDifferent ends a command that has said all there is to say.
var errDifferent = errors.New("the images are different")

func main() {
	if code, is := bench.AsPeer(); is {
		os.Exit(code)
	}
	ctx, stop := withSignals(context.Background())
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute executes one command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := logrus.New()
	log.SetOutput(stderr)
	log.SetFormatter(plainFormatter{})
	root := newRoot(log)
	root.SetArgs(expandHome(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errDifferent) {
		return exitDifferent
	}
	var sig *signalError
	if errors.As(context.Cause(ctx), &sig) && errors.Is(err, context.Canceled) {
		if hint := new(hintError); errors.As(err, &hint) {
			fmt.Fprintln(stderr, nametext.Lines(hint.hint))
		} else {
			fmt.Fprintln(stderr, "interrupted")
		}
		return 128 + int(sig.Signal)
	}
	fmt.Fprintf(stderr, "vernier: %s\n", nametext.Lines(errorText(err)))
	if bad := new(data.ImageError); errors.As(err, &bad) && offers(cmd, "max-bad") && !strings.Contains(err.Error(), "--max-bad") {
		fmt.Fprintln(stderr, "--max-bad N leaves up to N unreadable images out, and lists them")
	}
	if isUsage(err) {
		fmt.Fprintf(stderr, "see '%s --help'\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// expandHome puts the user's home folder in the place of ~ in arguments, and in values of
// flags, where a shell does not: in --out=~/runs.
func expandHome(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		name, value, is := strings.Cut(arg, "=")
		if is && strings.HasPrefix(name, "-") {
			out[i] = name + "=" + home.Expand(value)
		} else {
			out[i] = home.Expand(arg)
		}
	}
	return out
}

// plainFormatter writes lines for people: the time, what is worse than usual,
// and the message.
type plainFormatter struct{}

func (plainFormatter) Format(e *logrus.Entry) ([]byte, error) {
	level := ""
	if e.Level < logrus.InfoLevel {
		level = e.Level.String() + ": "
	}
	return fmt.Appendf(nil, "%s  %s%s\n", e.Time.Format("15:04:05"), level, nametext.Lines(plain(e.Message))), nil
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ Signal syscall.Signal }

func (e *signalError) Error() string { return e.Signal.String() }

// Is makes it context.Canceled, also where work ended with the cause of its context.
func (e *signalError) Is(target error) bool { return target == context.Canceled }

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP (a
// terminal that was closed) cancels. A
// second one ends the process at once.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(&signalError{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel(nil) }
}

// hintError tells an interrupted user how to go on.
type hintError struct {
	hint string
	err  error
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }
