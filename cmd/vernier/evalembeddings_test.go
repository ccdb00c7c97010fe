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
	var r run.RowFigures
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
	flat := filepath.Join(t.TempDir(), "flat.npy")
	if a, err := weights.FromFloat32("", []int{4}, make([]float32, 4)); err != nil || weights.WriteNPY(flat, a) != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--epoch cannot be given with --embeddings":          {"eval", "--embeddings", x, "--labels", y, "--epoch", "last"},
		"give a RUN or embeddings, not both":                 {"eval", "runs/x", "--embeddings", x, "--labels", y},
		"--labels needs --embeddings":                        {"eval", "--labels", y},
		"--embeddings is empty":                              {"eval", "--embeddings", "", "--labels", y},
		"--labels is empty":                                  {"verify", "--embeddings", x, "--labels", ""},
		"x.reshape(1, -1) makes it one row":                  {"eval", "--embeddings", flat, "--labels", y},
		"has a sample of its class in another group":         {"eval", "--embeddings", x, "--labels", y, "--groups", y},
		"z.npy has 3 rows: want one value":                   {"eval", "--embeddings", rowsOnALine(t, "z.npy", 0, 1, 2), "--labels", y},
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

// TestPairsOfRows: rows 0, 1, 10, 11, 20, 24 as two kinds of pairs, by number and by path,
// with and without labels.
func TestPairsOfRows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x := rowsOnALine(t, "x.npy", 0, 1, 10, 11, 20, 24)
	named := write("named.csv", "path,label,e0\r\na0.jpg,a,0\r\na1.jpg,a,1\r\nb0.jpg,b,10\r\nb1.jpg,b,11\r\nc0.jpg,c,20\r\nc1.jpg,c,24\r\n")
	pairs := write("pairs.csv", "a,b,same\n0,1,1\n2,3,1\n4,5,1\n1,2,0\n3,4,0\n0,5,0\n")
	byPath := write("paths.csv", "a,b,same\na0.jpg,a1.jpg,1\nb0.jpg,b1.jpg,1\nc0.jpg,c1.jpg,1\na1.jpg,b0.jpg,0\nb1.jpg,c0.jpg,0\na0.jpg,c1.jpg,0\n")
	for _, args := range [][]string{{x, "--pairs", pairs}, {named, "--pairs", byPath}, {named, "--pairs", pairs}} {
		code, text, errs := vernier(t, append([]string{"verify", "--metric", "euclidean", "--json", "--embeddings"}, args...)...)
		var v verification
		if err := json.Unmarshal([]byte(text), &v); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs)
		}
		if v.Same != 3 || v.Different != 3 || v.AUC != 1 || v.Identities != 3 || !v.All {
			t.Errorf("%v: %s", args, text)
		}
	}
	for says, pairs := range map[string]string{
		"there is no row 6 in":           "a,b,same\n0,6,1\n",
		"0 and 2 are called the same":    "a,b,same\n0,2,1\n0,1,0\n",
		"a0.jpg and b0.jpg are called t": "a,b,same\na0.jpg,b0.jpg,1\n",
	} {
		if code, _, errs := vernier(t, "verify", "--embeddings", named, "--pairs", write("wrong.csv", pairs)); code != cli.ExitFailed || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d\n%s", says, code, errs)
		}
	}
	first := write("first.csv", "a,b,same\n0,1,1\n2,3,1\n1,2,0\n")
	rest := write("rest.csv", "a,b,same\n4,5,1\n4,0,0\n")
	if code, _, errs := vernier(t, "verify", "--embeddings", x, "--pairs", rest, "--calibrate", "eer", "--calibrate-on", first); code != cli.ExitFailed || !strings.Contains(errs, "--calibrate-on") {
		t.Errorf("identities on both sides: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "verify", "--embeddings", named, "--calibrate", "eer", "--calibrate-on", first); code != cli.ExitUsage || !strings.Contains(errs, "needs --pairs") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestSuperClassesAndJunkOfRows: super-classes of a table and of a column are the same;
// junk is neither a query nor an answer.
func TestSuperClassesAndJunkOfRows(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	measure := func(args ...string) *run.Results {
		t.Helper()
		code, text, errs := vernier(t, append([]string{"eval", "--metric", "euclidean", "--json", "--embeddings"}, args...)...)
		r := &run.Results{}
		if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s", args, code, err, errs)
		}
		return r
	}
	x := rowsOnALine(t, "x.npy", 0, 1, 10, 11, 20, 21)
	y := labelFile(t, "a", "a", "b", "b", "c", "c")
	table := write("super.csv", "class,super\na,small\nb,small\nc,large\n")
	column := write("rows.csv", "e0,label,category\n0,a,small\n1,a,small\n10,b,small\n11,b,small\n20,c,large\n21,c,large\n")
	of, in := measure(x, "--labels", y, "--super-classes", table), measure(column)
	s := of.Model.SuperClasses
	if s == nil || len(s.Groups) != 2 || s.Groups[1].Name != "small" || s.Groups[1].Classes != 2 || s.Groups[1].Queries != 4 || s.RecallAt1 != 100 {
		t.Errorf("super-classes %+v", s)
	}
	if !reflect.DeepEqual(of.Model.SuperClasses, in.Model.SuperClasses) {
		t.Errorf("of a column: %+v", in.Model.SuperClasses)
	}
	code, text, errs := vernier(t, "verify", "--embeddings", x, "--labels", y, "--metric", "euclidean", "--super-classes", table, "--threshold", "9", "--json")
	var v verification
	if err := json.Unmarshal([]byte(text), &v); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	// Of a (0, 1) and b (10, 11) one different pair of four is 9 apart; c is alone.
	if l := v.SuperClasses; len(l) != 2 || l[0].Name != "large" || l[0].AUC != nil || l[0].Same != 1 || l[1].Same != 2 || l[1].Different != 4 || *l[1].AUC != 1 || *l[1].FAR != .25 || *l[1].FRR != 0 {
		t.Errorf("%s", text)
	}
	if code, text, errs := vernier(t, "verify", "--embeddings", column, "--metric", "euclidean"); code != cli.ExitDone || !strings.Contains(text, "among the identities of each super-class") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	if code, _, errs := vernier(t, "eval", "--embeddings", x, "--labels", y, "--super-classes", write("few.csv", "class,super\na,small\n")); code != cli.ExitFailed || !strings.Contains(errs, "2 classes of") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	junk := measure(rowsOnALine(t, "z.npy", 0, .5, 1, 10, 10.5, 11), "--labels", labelFile(t, "1", "-1", "1", "2", "-1", "2"), "--junk=-1")
	if m := junk.Model; m.Queries != 4 || m.Classes != 2 || m.Recall[0].Percent != 100 {
		t.Errorf("without junk: %d queries of %d classes, Recall@1 %v", m.Queries, m.Classes, m.Recall[0].Percent)
	}
}

// TestMetricOfNPYByEmbed: a .npy cannot state its metric, and eval says so of one that
// embed wrote.
func TestMetricOfNPYByEmbed(t *testing.T) {
	folder, images := trained(t)
	dir := t.TempDir()
	labels := labelFile(t, strings.Fields(strings.Repeat("a a a a b b b b ", 12))...)
	for name, warned := range map[string]bool{"e.npy": true, "e.npz": false} {
		out := filepath.Join(dir, name)
		if code, _, errs := vernier(t, "embed", folder, images, "--out", out); code != cli.ExitDone {
			t.Fatal(errs)
		}
		code, text, errs := vernier(t, "eval", "--embeddings", out, "--labels", labels, "--restarts", "1")
		if code != cli.ExitDone || strings.Contains(errs, "does not say how its rows are to be compared, and cosine is taken") != warned || strings.Contains(text, "by cosine") != warned {
			t.Errorf("%s: exit %d\n%s%s", name, code, text, errs)
		}
		if _, _, errs := vernier(t, "eval", "--embeddings", out, "--labels", labels, "--restarts", "1", "--metric", "brm"); strings.Contains(errs, "does not say") {
			t.Errorf("%s with a metric: %s", name, errs)
		}
	}
}
