package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// A model with levels is trained and measured, and everything that compares rows by a metric
// alone refuses it with the reason.
func TestAModelWithLevelsIsRefusedWhereRowsAreCompared(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "run")
	levels := []string{"train", "--data", "glyphs", "--out", folder, "--loss", "avsl", "--metric", "links", "--normalization", "none", "--dim", "24", "--size", "32",
		"--set", "model.levels.blocks=block2,block3,block4", "--set", "model.levels.keep=2", "--set", "model.levels.gamma=10",
		"--train-classes", "first:620", "--validation", "0", "--classes-per-batch", "4", "--images-per-class", "3", "--set", "steps=2"}
	if code, out, errs := vernier(t, levels...); code != cli.ExitDone || !strings.Contains(out, "links") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	picture := filepath.Join(dir, "gray.png")
	var text bytes.Buffer
	if err := png.Encode(&text, image.NewGray(image.Rect(0, 0, 32, 32))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(picture, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"export", folder, "--out", filepath.Join(dir, "a")},
		{"export", folder, "--out", filepath.Join(dir, "b"), "--expand", "1"},
		{"index", folder, "--split", "test", "--out", filepath.Join(dir, "c.index")},
		{"gallery", "push", folder, "--to", filepath.Join(dir, "d.gallery"), "--split", "test"},
		{"search", folder, picture},
		{"verify", folder, picture, picture, "--threshold", "1"},
		{"verify", folder},
		{"report", folder},
		{"serve", folder, "--listen", "127.0.0.1:0"},
		{"eval", folder, "--rerank", "k-reciprocal"},
		{"losses", "triplet", "--metric", "links"},
		{"train", "--data", "glyphs", "--metric", "links", "--out", filepath.Join(dir, "e")},
	} {
		code, _, errs := vernier(t, args...)
		if code == cli.ExitDone || !strings.Contains(errs, "rows alone do not give it") && !strings.Contains(errs, "and this one has none") {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}
