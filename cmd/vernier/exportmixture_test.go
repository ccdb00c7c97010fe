package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// TestARowThatIsCutOffIsFound: embed and linear transform leave a checksum that whatever
// reads their files compares.
func TestARowThatIsCutOffIsFound(t *testing.T) {
	images, dir := clitest.Stripes(t, 6, 4), t.TempDir()
	run := filepath.Join(dir, "run")
	if code, _, errs := vernier(t, quick(images, run)...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	table, model, mapped := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.json"), filepath.Join(dir, "z.csv")
	if err := os.WriteFile(table, []byte("a,b,label\n1,2,x\n2,1,x\n7,8,y\n8,7,y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	embedded := filepath.Join(dir, "x.csv")
	for _, args := range [][]string{
		{"embed", run, images, "--out", embedded},
		{"linear", "fit", table, "--learner", "covariance", "--out", model},
		{"linear", "transform", model, table, "--out", mapped},
	} {
		if code, _, errs := vernier(t, args...); code != cli.ExitDone {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	if code, _, errs := vernier(t, "linear", "transform", model, table, "--out", table); code != cli.ExitUsage || !strings.Contains(errs, "that is what the rows are made of") {
		t.Errorf("transform of a table onto itself: exit %d\n%s", code, errs)
	}
	query, err := filepath.Glob(filepath.Join(images, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for path, args := range map[string][]string{embedded: {"search", run, "--gallery", embedded, "--query", query[0]}, mapped: {"linear", "fit", mapped, "--learner", "covariance", "--out", model}} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if code, _, errs := vernier(t, args...); code != cli.ExitDone {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
		if err := os.WriteFile(path, b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1], 0o644); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if code, _, errs := vernier(t, args...); code != cli.ExitFailed || !strings.Contains(errs, name+" is not what "+name+".sha256 beside it says") {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}

// TestAnExportIsOfOneModel: --force does not leave rows of one model beside the description
// of another.
func TestAnExportIsOfOneModel(t *testing.T) {
	images, dir := clitest.Stripes(t, 6, 4), t.TempDir()
	first, second, out := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "out")
	for _, args := range [][]string{quick(images, first), quick(images, second, "--seed", "2"), {"export", first, "--out", out, "--format", "npy,safetensors,onnx"}} {
		if code, _, errs := vernier(t, args...); code != cli.ExitDone {
			t.Fatal(errs)
		}
	}
	for says, args := range map[string][]string{
		"would keep embeddings.npy, embeddings.safetensors, labels.npy, model.safetensors, network.onnx, paths.npy, which are of another model": {second, "--format", "csv"},
		"would keep embeddings.npy, labels.npy, paths.npy, which are of another set of images":                                                  {first, "--format", "safetensors", "--split", "train"},
	} {
		before := contents(t, out)
		if code, _, errs := vernier(t, append([]string{"export", "--out", out, "--force"}, args...)...); code != cli.ExitFailed || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
		if after := contents(t, out); after != before {
			t.Errorf("%v: the export changed", args)
		}
	}
	for _, args := range [][]string{{first, "--format", "csv"}, {second, "--format", "npy,safetensors,csv,onnx"}} {
		if code, _, errs := vernier(t, append([]string{"export", "--out", out, "--force"}, args...)...); code != cli.ExitDone {
			t.Errorf("%v: exit %d\n%s", args, code, errs)
		}
	}
}

// contents are the names and bytes of the files of a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(e.Name())
		all.Write(b)
	}
	return all.String()
}
