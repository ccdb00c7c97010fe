package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFileHasOnePlace(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"photos/birds", "elsewhere/deep"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"photos/birds/a.png", "photos/wow!b.png", "photos/all.zip", "elsewhere/a.png"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "photos", "photos/deep": "../elsewhere/deep", "photos/birds/same.png": "a.png", "all.zip": "photos/all.zip"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(filepath.Join(root, "photos"))
	p := newPlaces()
	for where, want := range map[string]string{
		"birds/a.png":                                     "photos/birds/a.png",
		"./birds/../birds//a.png":                         "photos/birds/a.png",
		"../photos/birds/a.png":                           "photos/birds/a.png",
		"../link/birds/a.png":                             "photos/birds/a.png",
		filepath.Join(root, "photos/birds/a.png"):         "photos/birds/a.png",
		filepath.Join(root, "link", "birds", "a.png"):     "photos/birds/a.png",
		"deep/../a.png":                                   "elsewhere/a.png", // of the folder that the link leads to
		"birds/same.png":                                  "photos/birds/same.png",
		"wow!b.png":                                       "photos/wow!b.png",
		"all.zip!birds/a.png":                             "photos/all.zip!birds/a.png",
		"./all.zip!a.png":                                 "photos/all.zip!a.png",
		"../all.zip!a.png":                                "photos/all.zip!a.png",
		filepath.Join(root, "all.zip") + "!birds/a!b.png": "photos/all.zip!birds/a!b.png",
	} {
		if got := p.of(where); got != filepath.Join(root, want) {
			t.Errorf("%s is at %s, want %s", where, got, filepath.Join(root, want))
		}
	}
	for _, none := range []string{"glyphs!Latin/a.png", "missing.png", ""} {
		if got := p.of(none); got != none {
			t.Errorf("%q is at %q, want it as it is", none, got)
		}
	}
}
