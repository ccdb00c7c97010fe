package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/internal/setting"
)

// Exit codes. A command that a signal interrupts exits with 128 plus the signal's number. One
// that only a signal ends, such as a server, returns no error then and is done.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Program is a program of several commands: its root command, and what its flags and
// errors mean. Main runs it with what all such programs
// have in common.
type Program struct {
	// Root makes the root command with its name, its help and its commands, which log to log.
	Root func(log *logrus.Logger) *cobra.Command
	// Limits are what flags take, by their names as in "--threads", or by "COMMAND --NAME"
	// where a flag takes something else in one command.
	Limits map[string]Limit
	// Flag is what the program calls a setting in messages: its flag, or the setting's own
	// name where there is none.
	Flag setting.Call
	// Hint is what to do about an error, which follows the error's text in the same
	// sentence; "" if there is nothing to say.
	Hint func(err error) string
	// Advice is a line of its own below the error of a command; "" if there is nothing to say.
	Advice func(cmd *cobra.Command, err error) string
}

// Main runs the program with the arguments and streams of the process, until it is done
// or a signal ends it, and exits.
func (p *Program) Main() {
	ctx, stop := withSignals(context.Background())
	code := p.Execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Execute executes one command line and returns the exit code.
func (p *Program) Execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := logrus.New()
	log.SetOutput(stderr)
	log.SetFormatter(plainFormatter{})
	root := p.Command(log)
	root.SetArgs(expandHome(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	if exit := new(ExitError); errors.As(err, &exit) {
		return exit.Code
	}
	var sig *SignalError
	if errors.As(context.Cause(ctx), &sig) && errors.Is(err, context.Canceled) {
		if hint := new(InterruptedError); errors.As(err, &hint) {
			fmt.Fprintln(stderr, nametext.Lines(hint.Hint))
		} else {
			fmt.Fprintln(stderr, "interrupted")
		}
		return 128 + int(sig.Signal)
	}
	fmt.Fprintf(stderr, "%s: %s\n", root.Name(), nametext.Lines(p.ErrorText(err)))
	if p.Advice != nil {
		if advice := p.Advice(cmd, err); advice != "" {
			fmt.Fprintln(stderr, advice)
		}
	}
	if isUsage(err) {
		fmt.Fprintf(stderr, "see '%s --help'\n", cmd.CommandPath())
		return ExitUsage
	}
	return ExitFailed
}

// Command is the root command with everything that it needs to run: the commands version
// and man, --quiet, the limits of its flags, and a suggestion for a command that it does
// not know.
func (p *Program) Command(log *logrus.Logger) *cobra.Command {
	root := p.Root(log)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = KnownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	quiet := root.PersistentFlags().BoolP("quiet", "q", false, "no progress and no remarks: results and errors only")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if *quiet {
			log.SetLevel(logrus.WarnLevel)
		}
		return checkLaunched(cmd, comm.Launched())
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newVersion(root.Name()), newMan(root.Name()))
	limitFlags(root, p.Limits)
	return root
}

// ErrorText is an error as a user reads it: settings are called by their flags, no
// package is named, errors of the system are sentences, and the hint stands at the end.
func (p *Program) ErrorText(err error) string {
	text := plain(systemErrors(err, setting.Text(err, p.Flag)))
	if p.Hint != nil {
		text += p.Hint(err)
	}
	return text
}

// KnownCommand refuses an argument of a command that only groups others, and suggests
// which of them may have been meant.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return Usagef("unknown command %q%s", args[0], nearest.Hint(args[0], names))
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
