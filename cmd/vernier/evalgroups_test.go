package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/run"
)

func TestEvalByClassAndSuperClass(t *testing.T) {
	set, folder, dir := clitest.Stripes(t, 8, 6), filepath.Join(t.TempDir(), "run"), t.TempDir()
	if code, _, errs := vernier(t, quick(set, folder, "--epochs", "1", "--metric", "brm")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	eval := func(more ...string) (int, string, string) {
		return vernier(t, append([]string{"eval", folder, "--restarts", "2"}, more...)...)
	}
	code, out, errs := eval("--json", "--per-class")
	var r run.Results
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("exit %d: %v\n%s", code, err, errs)
	}
	if len(r.Model.PerClass) != 4 || r.RawPixels.PerClass != nil || r.Model.SuperClasses != nil || r.Model.Clustering.Center != "mean" {
		t.Fatalf("%d classes, center %q, super-classes %v", len(r.Model.PerClass), r.Model.Clustering.Center, r.Model.SuperClasses)
	}
	supers, table := filepath.Join(dir, "supers.csv"), filepath.Join(dir, "classes.csv")
	text := "class,super\n"
	for i, c := range r.Model.PerClass {
		text += c.Name + ",half " + strconv.Itoa(i/2) + "\n"
	}
	if err := os.WriteFile(supers, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs = eval("--per-class="+table, "--super-classes", supers, "--center", "metric")
	if code != cli.ExitDone || !strings.Contains(out, "center metric") || !strings.Contains(out, "half 1") || !strings.Contains(out, "mean of 2") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	file, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, c := range r.Model.PerClass {
		if row := rows[i+1]; row[0] != c.Name || row[1] != "6" || row[6] != strconv.FormatFloat(c.MAPAtR, 'g', -1, 64) {
			t.Errorf("row %q for %+v", row, c)
		}
	}
	if code, out, errs = eval("--per-class"); code != cli.ExitDone || !strings.Contains(out, "R-precision") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if err := os.WriteFile(supers, []byte(text+"zebra,half 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs = eval("--super-classes", supers); code != cli.ExitFailed || !strings.Contains(errs, `line 6: class "zebra" is unknown`) {
		t.Errorf("unknown class: exit %d\n%s", code, errs)
	}
	for says, more := range map[string][]string{
		"--per-class=out.csv, with":       {"--per-class", "out.csv"},
		"want the name of a .csv file":    {"--per-class=out.txt"},
		"there is no folder":              {"--per-class=" + filepath.Join(dir, "none", "out.csv")},
		"none.csv: there is no such file": {"--super-classes", filepath.Join(dir, "none.csv")},
		`center rule "median", want mean`: {"--center", "median"},
	} {
		if code, _, errs := eval(more...); code != cli.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("%q: exit %d, want %q; it says\n%s", more, code, says, errs)
		}
	}
}
