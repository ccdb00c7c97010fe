package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder without folders of classes is trained on without labels, and says so; with one
// folder in it, it is a set of classes.
func TestAFolderWithoutClassesIsTrainedOnWithoutLabels(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		m := image.NewGray(image.Rect(0, 0, 16, 16))
		for p := range m.Pix {
			m.Pix[p] = uint8(p * i)
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%02d.png", i)))
		if err == nil {
			err = png.Encode(f, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	out := filepath.Join(t.TempDir(), "run")
	code, text, errs := vernier(t, "train", "--data", "folder:"+dir, "--size", "16", "--loss", "ntxent", "--epochs", "1", "--momentum-encoder", "0.9", "--queue", "128", "--projection", "12,6", "--out", out, "--threads", "1")
	if code != 0 || !strings.Contains(errs, "training is without labels, as with --labels none") || !strings.Contains(errs, "4 images are held out") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if !strings.Contains(text, "8 queries of 4 classes (views of images that were held out), model of epoch 1") {
		t.Errorf("got %s", text)
	}
	code, text, _ = vernier(t, "data", "check", "folder:"+dir)
	if code != 0 || !strings.Contains(text, "they have no labels") {
		t.Errorf("a check exits with %d: %s", code, text)
	}
	for want, more := range map[string][]string{
		"--queue and --memory are one setting":      {"--queue", "128", "--memory", "128"},
		"--loss: loss proxy-anchor has a row":       {"--loss", "proxy-anchor"},
		"--views says how many views of it a batch": {"--images-per-class", "4"},
		"--labels none trains without labels":       {"--labels", "x.csv"},
	} {
		code, _, errs := vernier(t, append([]string{"train", "--data", "folder:" + dir, "--out", out + "2"}, more...)...)
		if code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d: %s", more, code, errs)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "robin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "00.png"), filepath.Join(dir, "robin", "00.png")); err != nil {
		t.Fatal(err)
	}
	if code, text, _ := vernier(t, "train", "--data", "folder:"+dir, "--print-config"); code != 0 || strings.Contains(text, "labels: none") {
		t.Errorf("with a folder: exit code %d, %s", code, text)
	}
}
