package main

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	root "github.com/vernier-ml/vernier" // vernier runs a command here
	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// Package vernier embeds as the commands do, to the bit, and says of two images what
// they say. Pictures larger than those that training keeps are brought to that size first.
func TestTheLibraryEmbedsAsTheCommandsDo(t *testing.T) {
	images := clitest.Stripes(t, 12, 4)
	run := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(images, run)...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	large := filepath.Join(t.TempDir(), "large.png")
	writeGradient(t, large, 700, 500)
	paths := []string{large, filepath.Join(images, "class 00", "1.png"), filepath.Join(images, "class 03", "2.png")}

	code, out, errs := vernier(t, append([]string{"embed", run, "--format", "json"}, paths...)...)
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	var want [][]float32
	for line := range strings.Lines(out) {
		var row struct{ Embedding []float32 }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		want = append(want, row.Embedding)
	}
	// A file is enough, wherever it lies.
	moved := filepath.Join(t.TempDir(), "birds.safetensors")
	text, err := os.ReadFile(filepath.Join(run, "best.safetensors"))
	if err == nil {
		err = os.WriteFile(moved, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := vernier(t, "export", run, "--format", "safetensors"); code != cli.ExitDone {
		t.Fatal(errs)
	}
	for _, path := range []string{run, filepath.Join(run, "best.safetensors"), moved, filepath.Join(run, "export", "model.safetensors")} {
		m, err := root.Load(path, root.WithThreshold(1e9))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		rows, err := m.Embed(t.Context(), root.Files(paths...)...)
		if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
			t.Errorf("%s: other rows than vernier embed prints, %v", path, err)
		}
		code, out, errs := vernier(t, "verify", run, paths[0], paths[1], "--threshold", "1e9", "--json")
		if code != cli.ExitDone {
			t.Fatal(errs)
		}
		var said verdict
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			t.Fatal(err)
		}
		a, b := root.File(paths[0]), root.File(paths[1])
		if d, err := m.Distance(t.Context(), a, b); d != said.Distance || err != nil {
			t.Errorf("%s: distance %v, %v; vernier verify says %v", path, d, err, said.Distance)
		}
		if same, err := m.Same(t.Context(), a, b); !same || err != nil {
			t.Errorf("%s: same %v, %v", path, same, err)
		}
	}

	index := filepath.Join(t.TempDir(), "some.index")
	if code, _, errs := vernier(t, "index", run, "--out", index, images); code != cli.ExitDone {
		t.Fatal(errs)
	}
	code, out, errs = vernier(t, "search", run, "--gallery", index, "--query", large, "--json", "-k", "7")
	if code != cli.ExitDone {
		t.Fatal(errs)
	}
	var list []found
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	m, err := root.Load(run)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	x, err := m.OpenIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	near, err := x.Search(t.Context(), root.File(large), 7)
	if err != nil || len(near) != len(list[0].Neighbors) {
		t.Fatalf("%d neighbors, %v", len(near), err)
	}
	for i, n := range list[0].Neighbors {
		if near[i] != (root.Neighbor{Row: n.Row, Name: n.Path, Class: n.Class, Distance: n.Distance}) {
			t.Errorf("neighbor %d is %+v, vernier search finds %+v", i, near[i], n)
		}
	}
}

func writeGradient(t *testing.T, path string, w, h int) {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetGray(x, y, color.Gray{Y: uint8(x*x/97 + 31*y/7)})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
}
