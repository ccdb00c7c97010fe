package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// paperFolder holds a small table under the name of one of BRM Table 3.
func paperFolder(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(clitest.Rows(t, "x.csv", 60, 5))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".csv"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestChapter63(t *testing.T) {
	out := filepath.Join(t.TempDir(), "c")
	code, text, errs := papers(t, "chapter63", "--out", out)
	if code != 0 || !strings.Contains(text, "eigenvalue") || !strings.Contains(text, "textbook 0.967") {
		t.Fatalf("exit %d\n%s%s", code, text, errs)
	}
	if _, err := os.Stat(filepath.Join(out, "after.png")); err != nil {
		t.Error(err)
	}
}

func TestTable3(t *testing.T) {
	out := t.TempDir()
	code, text, errs := papers(t, "brm-table3", "--data", paperFolder(t, "vehicle"), "--trials", "2", "--learners", "gmml,lmnn", "--reference", "lmnn", "--out", out)
	if code != 0 || !strings.Contains(text, "24.95 (") || !strings.Contains(text, "846, 18, 4 in the paper") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	if !strings.Contains(errs, "mnist is not there") || !strings.Contains(errs, "letters is not there") {
		t.Errorf("tables that are not there go unmentioned:\n%s", errs)
	}
	for _, name := range []string{"table3.md", "table3.json", "table3.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestFig8And11(t *testing.T) {
	dir, out := paperFolder(t, "letters"), t.TempDir()
	code, text, errs := papers(t, "brm-fig8", filepath.Join(dir, "letters.csv"), "--label", "kind", "--learners", "euclidean,gmml", "--pairs", "200", "--out", filepath.Join(out, "roc.png"))
	if code != 0 || !strings.Contains(text, "200 similar and 200 dissimilar") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	code, text, errs = papers(t, "brm-fig11", "--data", dir, "--tables", "letters", "--trials", "2", "--learners", "euclidean,gmml", "--reference", "gmml", "--out", out)
	if code != 0 || !strings.Contains(text, "impulse all rows") || !strings.Contains(text, "brm-r-held") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	code, text, errs = papers(t, "brm-fig11", "--data", dir, "--tables", "letters", "--trials", "1", "--learners", "euclidean", "--penalty", "0", "--json", "-")
	if code != 0 || !json.Valid([]byte(text)) {
		t.Errorf("brm-fig11 --json -: exit %d\n%s%s", code, text, errs)
	}
	for _, name := range []string{"roc.png", "fig11-letters.png", "fig11-letters.md"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"--data is missing":               {"brm-table3"},
		"holds none of the tables":        {"brm-table3", "--data", t.TempDir()},
		`--tables "iris"`:                 {"brm-table3", "--data", ".", "--tables", "iris"},
		"--trials 1: want 2 to 100000":    {"brm-table2", "--trials", "1"},
		"--plot take one table":           {"brm-fig11", "--data", ".", "--json", "x.json"},
		"none of the tables":              {"brm-fig11", "--data", t.TempDir()},
		`"irises" is unknown; there is v`: {"brm-fig11", "--data", ".", "--tables", "letters,irises"},
		`"nca2"`:                          {"brm-fig11", "--data", ".", "--learners", "nca2"},
		`unknown command "brm-table33";`:  {"brm-table33"},
	} {
		if code, _, errs := papers(t, args...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s\nwant %q", args, code, errs, want)
		}
	}
}
