package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rowsOf writes a table of two classes that differ in one of five columns.
func rowsOf(t *testing.T, name string, n int, seed uint64) string {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("a,b,c,d,colour,kind\n")
	for i := range n {
		fmt.Fprintf(&b, "%.4f,%.4f,%.4f,7,%s,class %d\n", float64(i%2)+.15*r.NormFloat64(), 9*r.NormFloat64(), 9*r.NormFloat64(), []string{"red", "blue"}[r.IntN(2)], i%2)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLinearFitEvalTransform(t *testing.T) {
	train, test := rowsOf(t, "train.csv", 80, 1), rowsOf(t, "test.csv", 40, 2)
	model := filepath.Join(t.TempDir(), "m.json")
	code, _, errs := vernier(t, "linear", "fit", train, "--label", "kind", "--learner", "lda", "--out", model)
	if code != 0 || !strings.Contains(errs, "constant columns: d") {
		t.Fatalf("fit: exit %d\n%s", code, errs)
	}
	code, out, errs := vernier(t, "linear", "eval", model, test, "--train", train, "--json")
	if code != 0 {
		t.Fatalf("eval: exit %d\n%s", code, errs)
	}
	var fig linearFigures
	if err := json.Unmarshal([]byte(out), &fig); err != nil {
		t.Fatal(err)
	}
	if fig.Rows != 40 || fig.Error > 5 || fig.AUC < .9 {
		t.Errorf("figures %+v", fig)
	}
	mapped := filepath.Join(t.TempDir(), "z.csv")
	if code, _, errs = vernier(t, "linear", "transform", model, test, "--out", mapped); code != 0 {
		t.Fatalf("transform: exit %d\n%s", code, errs)
	}
	text, err := os.ReadFile(mapped)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 41 || lines[0] != "z1,label" || !strings.HasSuffix(lines[2], ",class 1") {
		t.Errorf("%d lines, first %q, third %q", len(lines), lines[0], lines[2])
	}
}

func TestLinearCompare(t *testing.T) {
	table, dir := rowsOf(t, "t.csv", 60, 3), t.TempDir()
	md, plot := filepath.Join(dir, "c.md"), filepath.Join(dir, "c.png")
	code, out, errs := vernier(t, "linear", "compare", table, "--learners", "euclidean,lda", "--reference", "lda", "--trials", "3", "--markdown", md, "--plot", plot)
	if code != 0 || !strings.Contains(out, "3 random splits") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile(md)
	if err != nil || !strings.Contains(string(text), "| lda: win/tie/loss against |") {
		t.Errorf("Markdown %q (%v)", text, err)
	}
	if info, err := os.Stat(plot); err != nil || info.Size() < 1000 {
		t.Errorf("picture: %v", err)
	}
}

func TestLinearMistakesAreNamed(t *testing.T) {
	table := rowsOf(t, "t.csv", 10, 4)
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	single := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(single, []byte("a,b,label\n1,2,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "m.json")
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		`unknown learner "lmmn"`:             {2, []string{"fit", table, "--learner", "lmmn", "--out", out}},
		`lmnn has no setting "kk"`:           {2, []string{"fit", table, "--learner", "lmnn", "--param", "kk=3", "--out", out}},
		`"three" is no whole number`:         {2, []string{"fit", table, "--learner", "lmnn", "--param", "k=three", "--out", out}},
		"--out is missing":                   {2, []string{"fit", table}},
		`line 3, column "b": "oops"`:         {1, []string{"fit", bad, "--out", out}},
		"1 row, a metric needs at least 2":   {1, []string{"fit", single, "--out", out}},
		"has 1 class":                        {1, []string{"compare", single}},
		`no label column "nothing"`:          {1, []string{"compare", table, "--label", "nothing"}},
		"no linear model":                    {1, []string{"eval", table, table}},
		`--missing "zero"`:                   {2, []string{"compare", table, "--missing", "zero"}},
		`--reference "lmnn"`:                 {2, []string{"compare", table, "--learners", "lda", "--reference", "lmnn"}},
		"TABLE is missing":                   {2, []string{"compare"}},
		"open nowhere.csv: no such file":     {1, []string{"compare", "nowhere.csv"}},
		`noise "pink", want`:                 {1, []string{"compare", table, "--noise", "pink"}},
		`unknown command "comparr"; did you`: {2, []string{"comparr"}},
	} {
		code, _, errs := vernier(t, append([]string{"linear"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %d; %s\nwant %q", c.args, code, c.code, errs, want)
		}
	}
}
