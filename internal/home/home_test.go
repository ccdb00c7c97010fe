package home

import (
	"path/filepath"
	"testing"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir) // Windows
	for path, want := range map[string]string{
		"~": dir, "~/": dir, "~/birds": filepath.Join(dir, "birds"), "~/a/../b.zip": filepath.Join(dir, "b.zip"),
		"": "", "birds": "birds", "/~/birds": "/~/birds", "./~": "./~", "~birds": "~birds", "a~/b": "a~/b",
	} {
		if got := Expand(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestWithoutAHomeFolderThePathStays(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if got := Expand("~/birds"); got != "~/birds" {
		t.Errorf("%q", got)
	}
}
