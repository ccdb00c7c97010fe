package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return e.Signal.String() }

// Is makes it context.Canceled, also where work ended with the cause of its context.
func (e *SignalError) Is(target error) bool { return target == context.Canceled }

// withSignals returns a context that the first SIGINT, SIGTERM, SIGHUP (a terminal that
// was closed) or SIGUSR1 cancels. A second one ends the process at once.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, stopping...)
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(&SignalError{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel(nil) }
}
