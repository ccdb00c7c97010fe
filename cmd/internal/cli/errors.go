package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
)

// UsageError is a mistake in the command line: the program exits with ExitUsage and
// points to the command's help.
type UsageError struct{ Err error }

// Error is the text of the mistake.
func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef is fmt.Errorf for a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// isUsage reports whether an error is a mistake in the command line. Data sets and settings
// are named there, so what is wrong with their names is such a mistake.
func isUsage(err error) bool {
	return errors.As(err, new(*UsageError)) || errors.As(err, new(*data.SpecError)) || errors.As(err, new(*run.SettingError))
}

// InterruptedError is the error of a command that was interrupted; its hint tells the user how to
// continue.
type InterruptedError struct {
	Hint string
	Err  error
}

// Error is the text of what the interruption broke off.
func (e *InterruptedError) Error() string { return e.Err.Error() }
func (e *InterruptedError) Unwrap() error { return e.Err }

// ExitError ends a command with an exit code of its own. Nothing is printed: the command
// has said what there is to say.
type ExitError struct{ Code int }

// Error names the code.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Takes checks that a command has one argument for each name, none of them empty; with more,
// the last one may be repeated.
func Takes(more bool, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return Usagef("%s is missing", names[len(args)])
		}
		for i, arg := range args {
			if arg == "" && len(names) > 0 {
				return Usagef("%s is empty", names[min(i, len(names)-1)])
			}
		}
		if len(args) > len(names) && !more {
			return Usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
