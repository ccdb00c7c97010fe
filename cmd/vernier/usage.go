package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/sweep"
)

// usageError is a mistake in the command line: exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	return errors.As(err, new(*usageError)) || errors.As(err, new(*data.SpecError)) || errors.As(err, new(*run.SettingError)) || errors.As(err, new(*sweep.OptionError))
}

// takes checks the number of arguments, which have the given names; with more,
// the last may be repeated.
func takes(more bool, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usagef("%s is missing", names[len(args)])
		}
		for i, arg := range args {
			if arg == "" && len(names) > 0 {
				return usagef("%s is empty", names[min(i, len(names)-1)])
			}
		}
		if len(args) > len(names) && !more {
			return usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
