package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsOfTheSystemBecomeSentences(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "x.csv")
	_, open := os.Open(missing)
	_, deep := os.ReadFile(filepath.Join(dir, "no", "x.csv"))
	_, folder := os.ReadFile(dir)
	rename := os.Rename(missing, missing+"2")
	for want, err := range map[string]error{
		"X: there is no such file or folder":                              open,
		"table X: there is no such file or folder":                        fmt.Errorf("table %w", open),
		"X: there is no such file or folder; and more":                    fmt.Errorf("%s: %w; and more", missing, open),
		"D/no/x.csv: there is no folder D/no":                             deep,
		"a: X: there is no such file or folder\nb":                        fmt.Errorf("a: %w", errors.Join(open, errors.New("b"))),
		"D: a folder, where a file is wanted":                             folder,
		"X2: there is no such file or folder":                             rename,
		"X: this user has no right to it (permission denied)":             &fs.PathError{Op: "open", Path: missing, Err: syscall.EACCES},
		"X: no room is left on the disk":                                  &fs.PathError{Op: "write", Path: missing, Err: syscall.ENOSPC},
		"X: file already closed":                                          &fs.PathError{Op: "read", Path: missing, Err: fs.ErrClosed},
		"image x.jpg: no such file or directory, which is no PathError's": errors.New("image x.jpg: no such file or directory, which is no PathError's"),
	} {
		got := strings.NewReplacer(missing, "X", dir, "D", string(filepath.Separator), "/").Replace(new(Program).ErrorText(err))
		if got != want {
			t.Errorf("%v\n%q, want\n%q", err, got, want)
		}
	}
}

func TestWorkThatEndsWithASignalIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&SignalError{syscall.SIGTERM})
	if err := fmt.Errorf("data set x: %w", context.Cause(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no canceled context", err)
	}
}
