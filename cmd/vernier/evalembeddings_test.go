package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// TestEmbeddingsOfARunHaveItsFigures: the rows that export writes give every figure of
// the run, to the last digit, from each format.
func TestEmbeddingsOfARunHaveItsFigures(t *testing.T) {
	folder, _ := trained(t)
	out := filepath.Join(t.TempDir(), "rows")
	if code, _, errs := vernier(t, "export", folder, "--format", "npy,npz,csv,parquet,safetensors", "--out", out); code != cli.ExitDone {
		t.Fatal(errs)
	}
	measure := func(args ...string) *run.Results {
		t.Helper()
		code, text, errs := vernier(t, append(args, "--json", "--restarts", "2", "--per-class")...)
		r := &run.Results{}
		if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs)
		}
		r.Model.Split = ""
		for i := range r.Model.PerClass {
			r.Model.PerClass[i].Name = ""
		}
		return r
	}
	want := measure("eval", folder)
	for _, args := range [][]string{
		{"--embeddings", "embeddings.npy", "--labels", "labels.npy"},
		{"--embeddings", "embeddings.npz"},
		{"--embeddings", "embeddings.csv"},
		{"--embeddings", "embeddings.parquet"},
		{"--embeddings", "embeddings.safetensors", "--labels", "labels.npy"},
	} {
		for i := 1; i < len(args); i += 2 {
			args[i] = filepath.Join(out, args[i])
		}
		got := measure(append([]string{"eval"}, args...)...)
		if !reflect.DeepEqual(got.Model, want.Model) {
			t.Errorf("%v: %+v\nwant %+v", args, got.Model, want.Model)
		}
	}
	code, text, errs := vernier(t, "verify", "--embeddings", filepath.Join(out, "embeddings.npz"), "--json")
	var got verification
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	code, text, errs = vernier(t, "verify", folder, "--json")
	var ran verification
	if err := json.Unmarshal([]byte(text), &ran); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	if got.AUC != ran.AUC || got.EER != ran.EER || got.Same != ran.Same || got.Distance != ran.Distance {
		t.Errorf("verify: %+v, want %+v", got, ran)
	}
}

// rowsOnALine are points 0, 1, 10, 11, 20, 21, ... of classes of two, as .npy.
func rowsOnALine(t *testing.T, name string, x ...float32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	a, err := weights.FromFloat32("", []int{len(x), 1}, x)
	if err != nil {
		t.Fatal(err)
	}
	if err := weights.WriteNPY(path, a); err != nil {
		t.Fatal(err)
	}
	return path
}

func labelFile(t *testing.T, labels ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.txt")
	if err := os.WriteFile(path, []byte(strings.Join(labels, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEmbeddingsBesideEachOther(t *testing.T) {
	good := rowsOnALine(t, "good.npy", 0, 1, 10, 11, 20, 21)
	bad := rowsOnALine(t, "bad.npy", 0, 10, 1, 20, 11, 21) // right are the last two alone
	y := labelFile(t, "a", "a", "b", "b", "c", "c")
	code, text, errs := vernier(t, "eval", "--embeddings", good+","+bad, "--labels", y, "--metric", "euclidean", "--json")
	var r measuredRows
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	if len(r.Embeddings) != 2 || len(r.Differences) != 1 {
		t.Fatalf("%s", text)
	}
	if a, b := r.Embeddings[0].Model.Recall[0].Percent, r.Embeddings[1].Model.Recall[0].Percent; a != 100 || r.Differences[0].RecallAt1.Mean != b-a {
		t.Errorf("Recall@1 %v and %v, difference %+v", a, b, r.Differences[0].RecallAt1)
	}
	code, text, _ = vernier(t, "eval", "--embeddings", good+","+bad, "--labels", y, "--metric", "euclidean", "--restarts", "1")
	for _, want := range []string{"6 queries of 3 classes, by euclidean", "good.npy  100.0", "paired by query"} {
		if code != cli.ExitDone || !strings.Contains(text, want) {
			t.Errorf("exit %d, want %q in\n%s", code, want, text)
		}
	}
}

// The nearest of query 0 is of its class and group; without it the nearest is 3, of
// the other class, then 2: rank 2 of one right answer, average precision 1/2, by
// trapezoids (0 + 1/2)/2.
func TestEmbeddingsWithAGalleryAndGroups(t *testing.T) {
	q := rowsOnALine(t, "q.npy", 0)
	g := rowsOnALine(t, "g.npy", 1, 3, 2)
	code, text, errs := vernier(t, "eval", "--embeddings", q, "--labels", labelFile(t, "a"), "--groups", labelFile(t, "1"),
		"--gallery", g, "--gallery-labels", labelFile(t, "a", "a", "b"), "--gallery-groups", labelFile(t, "1", "2", "1"), "--metric", "euclidean", "--k", "1,2", "--json")
	r := &run.Results{}
	if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	m := r.Model
	if m.Queries != 1 || m.Gallery != 3 || m.Recall[0].Percent != 0 || m.Recall[1].Percent != 100 || m.MAP != .5 || m.TrapezoidMAP == nil || *m.TrapezoidMAP != .25 {
		t.Errorf("%s", text)
	}
}

func TestWhatEmbeddingsDoNotGoWith(t *testing.T) {
	x := rowsOnALine(t, "x.npy", 0, 1, 10, 11)
	y := labelFile(t, "a", "a", "b", "b")
	for want, args := range map[string][]string{
		"--epoch cannot be given with --embeddings":          {"eval", "--embeddings", x, "--labels", y, "--epoch", "last"},
		"give a RUN or embeddings, not both":                 {"eval", "runs/x", "--embeddings", x, "--labels", y},
		"--labels needs --embeddings":                        {"eval", "--labels", y},
		"holds no labels: name a file of them with --labels": {"eval", "--embeddings", x},
		"y.txt has 4 values":                                 {"eval", "--embeddings", rowsOnALine(t, "z.npy", 0, 1, 2), "--labels", y},
		"--gallery names 1 file, --embeddings 2: name one gallery for each file of embeddings": {"eval", "--embeddings", x + "," + x, "--labels", y, "--gallery", x},
		"with --gallery both or none":               {"eval", "--embeddings", x, "--labels", y, "--gallery", x, "--groups", y},
		"--metric \"foo\"":                          {"eval", "--embeddings", x, "--labels", y, "--metric", "foo"},
		"--store cannot be given with --embeddings": {"verify", "--embeddings", x, "--labels", y, "--store"},
		"--metric needs --embeddings":               {"verify", "runs/x", "--metric", "cosine"},
	} {
		code, out, errs := vernier(t, args...)
		if code == cli.ExitDone || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %q in\n%s%s", fmt.Sprint(args), code, want, out, errs)
		}
	}
}
