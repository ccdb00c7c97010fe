package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, stderr := vernier(t, "man", dir); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, c := range newRoot(logrus.New()).Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, "vernier-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if text := string(page); !strings.Contains(text, c.Short) || !strings.Contains(text, `"Jan 1970"`) {
			t.Errorf("%s: neither its line nor its date in\n%.300s", c.Name(), text)
		}
	}
}

func TestCompletionsAreWrittenForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, stderr := vernier(t, "completion", shell)
		if code != exitDone || !strings.Contains(out, "vernier") {
			t.Errorf("%s: exit %d, %d bytes, %s", shell, code, len(out), stderr)
		}
	}
}
