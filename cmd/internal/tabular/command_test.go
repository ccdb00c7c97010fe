package tabular

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// run executes a command line of a program that has this command alone, and returns exit
// code, output and messages.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	limits := cli.CommonLimits()
	maps.Copy(limits, Limits())
	root := func(log *logrus.Logger) *cobra.Command {
		root := &cobra.Command{Use: "vernier"}
		root.AddCommand(New(log))
		return root
	}
	hint := func(err error) string { return Hint(err) + cli.TableHint(err) }
	p := cli.Program{Root: root, Limits: limits, Hint: hint}
	return clitest.Program{Execute: p.Execute}.Run(t, args...)
}

func TestFitEvalTransform(t *testing.T) {
	train, test := clitest.Rows(t, "train.csv", 80, 1), clitest.Rows(t, "test.csv", 40, 2)
	model := filepath.Join(t.TempDir(), "m.json")
	code, _, errs := run(t, "linear", "fit", train, "--label", "kind", "--learner", "lda", "--out", model)
	if code != 0 || !strings.Contains(errs, "1 constant column: d") {
		t.Fatalf("fit: exit %d\n%s", code, errs)
	}
	code, out, errs := run(t, "linear", "eval", model, test, "--train", train, "--json")
	if code != 0 {
		t.Fatalf("eval: exit %d\n%s", code, errs)
	}
	var fig figures
	if err := json.Unmarshal([]byte(out), &fig); err != nil {
		t.Fatal(err)
	}
	if fig.Rows != 40 || fig.Error > 5 || fig.AUC < .9 {
		t.Errorf("figures %+v", fig)
	}
	mapped := filepath.Join(t.TempDir(), "z.csv")
	if code, _, errs = run(t, "linear", "transform", model, test, "--out", mapped); code != 0 {
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

func TestCompare(t *testing.T) {
	table, dir := clitest.Rows(t, "t.csv", 60, 3), t.TempDir()
	md, plot := filepath.Join(dir, "c.md"), filepath.Join(dir, "c.png")
	code, out, errs := run(t, "linear", "compare", table, "--learners", "euclidean,lda", "--reference", "lda", "--trials", "3", "--markdown", md, "--plot", plot)
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

// TestCompareWithoutTheUsualReference leaves the reference learner out.
func TestCompareWithoutTheUsualReference(t *testing.T) {
	table := clitest.Rows(t, "t.csv", 60, 3)
	code, out, errs := run(t, "linear", "compare", table, "--learners", "euclidean,lda", "--trials", "2")
	if code != 0 || strings.Contains(out, "win/tie/loss") || !strings.Contains(out, "2 random splits") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestEvalNeedsRows(t *testing.T) {
	table, model := clitest.Rows(t, "t.csv", 20, 5), filepath.Join(t.TempDir(), "m.json")
	if code, _, errs := run(t, "linear", "fit", table, "--label", "kind", "--learner", "euclidean", "--out", model); code != 0 {
		t.Fatal(errs)
	}
	for want, args := range map[string][]string{
		"--k 20: a labeled row has 19 others":  {"--k", "20"},
		"has 20 labeled rows":                  {"--k", "21", "--train", table},
		`column "c", which the metric was lea`: {"--label", "c"},
	} {
		if code, _, errs := run(t, append([]string{"linear", "eval", model, table}, args...)...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %q in %s", args, code, want, errs)
		}
	}
	if code, _, errs := run(t, "linear", "eval", model, table, "--k", "19"); code != 0 {
		t.Error(errs)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	table := clitest.Rows(t, "t.csv", 10, 4)
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	single := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(single, []byte("a,b,label\n1,2,x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "m.json")
	far := filepath.Join(t.TempDir(), "far.csv")
	if err := os.WriteFile(far, []byte("a,b,label\n1,0,x\n3,1e300,y\n5,6,x\n2,3,y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one, gaps := filepath.Join(t.TempDir(), "class.csv"), filepath.Join(t.TempDir(), "gaps.csv")
	if err := os.WriteFile(one, []byte("x,label\n"+strings.Repeat("1,a\n2,a\n3,a\n", 3)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gaps, []byte("a,b,label\n1,0,x\n\n3,1,y\n5,?,x\n2,3,y\n4,?,x\n4,?,y\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		`unknown learner "lmmn"`:           {2, []string{"fit", table, "--learner", "lmmn", "--out", out}},
		`lmnn has no setting "kk"`:         {2, []string{"fit", table, "--learner", "lmnn", "--param", "kk=3", "--out", out}},
		`"three" is no whole number`:       {2, []string{"fit", table, "--learner", "lmnn", "--param", "k=three", "--out", out}},
		"--out is missing":                 {2, []string{"fit", table}},
		`line 3, column "b": "oops"`:       {1, []string{"fit", bad, "--out", out}},
		"1 row, a metric needs at least 2": {1, []string{"fit", single, "--out", out}},
		"rows of 2 classes or more":        {1, []string{"compare", single}},
		`no label column "nothing"`:        {1, []string{"compare", table, "--label", "nothing"}},
		"no linear model":                  {1, []string{"eval", table, table}},
		`--missing "zero"`:                 {2, []string{"compare", table, "--missing", "zero"}},
		`--reference "lmnn"`:               {2, []string{"compare", table, "--learners", "lda", "--reference", "lmnn"}},
		"lmnn, setting k: -1 is negative":  {2, []string{"fit", table, "--learner", "lmnn", "--param", "k=-1", "--out", out}},
		"--learners: lda is there twice":   {2, []string{"compare", table, "--learners", "lda,lda"}},
		"--learners is empty":              {2, []string{"compare", table, "--learners", ""}},
		"--k 0: want 1 to 1000000":         {2, []string{"compare", table, "--k", "0"}},
		"no class has two rows":            {1, []string{"compare", table, "--label", "b", "--drop", "color,kind", "--learners", "lda,lmnn"}},
		"too large to be squared in 32 bits: standardize the columns, or scale them (leave out --raw)": {1, []string{"fit", far, "--raw", "--learner", "lda", "--out", out}},
		"TABLE is missing":                     {2, []string{"compare"}},
		`all 9 labeled rows are of class "a"`:  {1, []string{"fit", one, "--learner", "lda", "--out", out}},
		"k is 5000, but only 8 rows train":     {1, []string{"compare", table, "--k", "5000"}},
		`line 5, column "b" has no value; lin`: {1, []string{"fit", gaps, "--out", out}},
		`--missing mean or --missing median`:   {1, []string{"compare", gaps}},
		`the last one, "c", holds no classes`:  {1, []string{"fit", table, "--drop", "d,color,kind", "--out", out}},
		"nowhere.csv: there is no such file":   {1, []string{"compare", "nowhere.csv"}},
		`--noise "pink": there is gaussian`:    {2, []string{"compare", table, "--noise", "pink"}},
		`unknown command "comparr"; did you`:   {2, []string{"comparr"}},
	} {
		code, _, errs := run(t, append([]string{"linear"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %d; %s\nwant %q", c.args, code, c.code, errs, want)
		}
	}
}

// TestFitListsItsFeatures learns from a table as pandas writes it in a country
// of decimal commas.
func TestFitListsItsFeatures(t *testing.T) {
	var b strings.Builder
	b.WriteString("sep=;\r\n;a;id;color;kind;;\r\n")
	for i := range 20 {
		fmt.Fprintf(&b, "%d;%d,5;%d;%s;%c;;\r\n", i, i*i%7, i+1, []string{"red", "blue"}[i/2%2], 'x'+rune(i%2))
	}
	table, model := filepath.Join(t.TempDir(), "t.csv"), filepath.Join(t.TempDir(), "m.json")
	if err := os.WriteFile(table, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs := run(t, "linear", "fit", table, "--learner", "lda", "--out", model)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, want := range []string{
		"4 features: a, id, color=blue, color=red\n", "column 1 of the file has no name and numbers the rows: it is left out",
		"numbers are read with decimal commas", `warning: ` + table + `: column "id" numbers the rows: leave it out if it is no measurement (--drop`,
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	thousands := filepath.Join(t.TempDir(), "k.csv")
	if err := os.WriteFile(thousands, []byte("a;label\n1,234;x\n2,345;y\n1,500;x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "linear", "fit", thousands, "--out", model); code != 1 || !strings.Contains(errs, `line 2, column "a": "1,234" may be`) || !strings.Contains(errs, "--decimal comma or --decimal point") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := run(t, "linear", "fit", thousands, "--learner", "lda", "--decimal", "comma", "--out", model); code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
