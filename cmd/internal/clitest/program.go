package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program is a program under test.
type Program struct {
	// Execute executes one command line and returns the exit code.
	Execute func(ctx context.Context, args []string, stdout, stderr io.Writer) int
	// Root is the root command; its flags have their limits.
	Root *cobra.Command
	// Limits are the names of the flags that have limits: "--NAME" or "COMMAND --NAME".
	Limits []string
	// Unchecked are the flags that take negative numbers.
	Unchecked []string
}

// Run executes a command line and returns the exit code, the output and the messages.
func (p Program) Run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = p.Execute(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// Check tests what holds for every program: its numbers are checked while the command line
// is read, its limits are those of flags, every command explains itself and has a manual
// page, and completions are written for every shell.
func (p Program) Check(t *testing.T) {
	t.Run("numbers", p.numbers)
	t.Run("limits", p.limits)
	t.Run("help", p.help)
	t.Run("manual", p.manual)
	t.Run("completions", p.completions)
}

// words say what flags of a type take.
var words = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number",
	"bool": "true or false", "duration": "a time with its unit, such as 10m or 1h30m",
	"intSlice": "whole numbers, separated by commas", "uintSlice": "whole numbers from 0 on, separated by commas",
	"float64Slice": "numbers, separated by commas",
}

func (p Program) numbers(t *testing.T) {
	seen := 0
	eachFlag(p.Root, func(path []string, f *pflag.Flag) {
		kind := f.Value.Type()
		if _, ok := words[kind]; !ok {
			return
		}
		seen++
		p.refuses(t, path, f.Name, "x", "want "+words[kind])
		switch {
		case strings.HasPrefix(kind, "float64"):
			for _, value := range []string{"NaN", "Inf"} {
				p.refuses(t, path, f.Name, value, "want")
			}
		case kind == "bool", kind == "duration":
			return
		}
		for _, name := range p.Unchecked {
			if name == f.Name {
				return
			}
		}
		p.refuses(t, path, f.Name, "-1", "")
	})
	if seen < 20 {
		t.Errorf("%d flags with numbers were seen", seen)
	}
}

// refuses runs a command with one flag and checks that the flag is refused as wrong usage,
// by its name and in words.
func (p Program) refuses(t *testing.T, path []string, name, value, says string) {
	t.Helper()
	args := append(append([]string{}, path...), "--"+name+"="+value)
	code, _, errs := p.Run(t, args...)
	if code != 2 || !strings.HasPrefix(errs, p.Root.Name()+": --"+name) || !strings.Contains(errs, says) || strings.Contains(errs, "strconv") || strings.Contains(errs, "pars") {
		t.Errorf("%v: exit %d, want 2 with the flag's name and %q; it says\n%s", args, code, says, errs)
	}
}

func (p Program) limits(t *testing.T) {
	all := map[string]bool{}
	for _, name := range p.Limits {
		all[name] = true
	}
	eachFlag(p.Root, func(path []string, f *pflag.Flag) {
		delete(all, "--"+f.Name)
		delete(all, strings.Join(path, " ")+" --"+f.Name)
	})
	for name := range all {
		t.Errorf("no command has %s", name)
	}
}

func (p Program) help(t *testing.T) {
	eachCommand(p.Root, func(path []string, cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() || cmd.Name() == "completion" || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) || cmd.Args == nil {
			t.Errorf("%s needs Short, Long, an Example of itself, and Args that refuse what it does not take", cmd.CommandPath())
		}
		code, out, _ := p.Run(t, append(path, "--help")...)
		if code != 0 || !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:\n  "+p.Root.Name()) {
			t.Errorf("%s --help: exit %d\n%s", cmd.CommandPath(), code, out)
		}
	})
	// A flag's help is read without its neighbors: it begins with what the flag is, and not
	// with what that is of.
	eachFlag(p.Root, func(path []string, f *pflag.Flag) {
		for _, start := range []string{"of ", "both", "the same", "that "} {
			if strings.HasPrefix(f.Usage, start) || f.Usage == "" {
				t.Errorf("%s --%s: %q", strings.Join(path, " "), f.Name, f.Usage)
			}
		}
	})
}

func (p Program) manual(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, stderr := p.Run(t, "man", dir); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, c := range p.Root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, p.Root.Name()+"-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if text := string(page); !strings.Contains(text, c.Short) || !strings.Contains(text, `"Jan 1970"`) {
			t.Errorf("%s: neither its line nor its date in\n%.300s", c.Name(), text)
		}
	}
}

func (p Program) completions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, stderr := p.Run(t, "completion", shell)
		if code != 0 || !strings.Contains(out, p.Root.Name()) {
			t.Errorf("%s: exit %d, %d bytes, %s", shell, code, len(out), stderr)
		}
	}
}

// eachCommand calls do for a command and those below it, with the words that lead to it.
func eachCommand(cmd *cobra.Command, do func(path []string, cmd *cobra.Command)) {
	do(strings.Fields(cmd.CommandPath())[1:], cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, do)
	}
}

// eachFlag calls do for every flag of every command, with the words that lead to the
// command.
func eachFlag(cmd *cobra.Command, do func(path []string, f *pflag.Flag)) {
	eachCommand(cmd, func(path []string, cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { do(path, f) })
	})
}
