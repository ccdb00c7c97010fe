package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// fakeNPM is a program that writes the archives it is asked for as text.
func fakeNPM(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "npm")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMakeEmojiTrustsNoArchiveUnseen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "emoji")
	for name, c := range map[string]struct{ npm, says string }{
		"no npm":        {filepath.Join(t.TempDir(), "npm"), "no such file"},
		"not installed": {"npm-that-is-not-there", "--from"},
		"npm fails":     {fakeNPM(t, "echo network is down; exit 3"), "network is down"},
		"no archives":   {fakeNPM(t, "exit 0"), "emoji-datasource-google-16.0.0.tgz"},
		"other content": {fakeNPM(t, `for a in emoji-datasource-google-16.0.0 emoji-datasource-twitter-16.0.0 lobehub-fluent-emoji-3d-1.1.0 openmoji-17.0.0; do echo x > "$5/$a.tgz"; done`), "SHA-512"},
	} {
		code, out, errs := vernier(t, "data", "make", "emoji", dir, "--npm", c.npm)
		if code != cli.ExitFailed || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, want %q\n%s%s", name, code, c.says, out, errs)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: left a folder behind", name)
		}
	}
}

func TestMakeEmojiKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	if code, _, errs := vernier(t, "data", "make", "emoji", dir); code != cli.ExitFailed || !strings.Contains(errs, "already exists") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "data", "make", "emoji", filepath.Join(dir, "new"), "--from", dir); code != cli.ExitFailed || !strings.Contains(errs, "is not in it") {
		t.Errorf("a folder without packages: exit %d\n%s", code, errs)
	}
	for _, cmd := range []string{"data make", "data make emoji", "data prepare"} {
		code, out, _ := vernier(t, append(strings.Fields(cmd), "--help")...)
		if code != cli.ExitDone || !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:") {
			t.Errorf("vernier %s --help: exit %d\n%s", cmd, code, out)
		}
	}
}
