package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/report"
	"github.com/vernier-ml/vernier/run"
)

func TestReport(t *testing.T) {
	folder, images := trained(t)
	code, out, errs := vernier(t, "report", folder, "--json", "--hardest", "3", "--drawn", "2", "--points", "20")
	var r struct {
		Page string
		report.Report
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil || r.Page != filepath.Join(folder, "report.html") {
		t.Fatal(err)
	}
	if r.Images != 48 || r.Classes != 6 || len(r.Hardest) > 3 || len(r.Drawn) != 2 || r.MapPoints != 16 || len(r.Worst) != 6 || r.Confusion.Queries != 48 {
		t.Errorf("%+v", r)
	}
	last := 1 << 30
	for _, q := range r.Hardest {
		if q.FirstRank < 2 || q.FirstRank > last || q.Nearest[0].Right || len(q.Nearest) != 8 {
			t.Errorf("a hard query: %+v", q)
		}
		last = q.FirstRank
	}
	if precision := r.Results.Model.Recall[0].Percent; (100-precision)*48/100-float64(r.Confusion.Wrong) > 1e-9 {
		t.Errorf("Recall@1 %v, but %d of 48 wrong", precision, r.Confusion.Wrong)
	}
	for _, want := range []string{"Training loss", "t-SNE by brm", "ROC", "raw pixels", "class 06", "data.spec", `alt="query: class `} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page says nothing of %q", want)
		}
	}

	// Another set has no stored figures: they are measured.
	other := filepath.Join(t.TempDir(), "other.html")
	if code, out, errs := vernier(t, "report", folder, "--data", "folder:"+images, "--out", other); code != cli.ExitDone || strings.TrimSpace(out) != other {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if code, _, errs := vernier(t, "report", folder, "--out", other); code != cli.ExitFailed || !strings.Contains(errs, "--force") {
		t.Errorf("over a file: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "report", folder, "--points", "0"); code != cli.ExitUsage || !strings.Contains(errs, "--points 0") {
		t.Errorf("no points: exit %d\n%s", code, errs)
	}
}

// TestReportOfEmbeddings: the page of two files, with the pictures that a column of paths
// names, and the numbers of eval.
func TestReportOfEmbeddings(t *testing.T) {
	images := clitest.Stripes(t, 3, 2)
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(images, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x := write("x.csv", "e0,e1\r\n0,0\r\n1,0\r\n10,0\r\n11,0\r\n20,1\r\n21,0\r\n")
	z := write("z.csv", "e0,e1\n0,0\n10,0\n1,0\n20,0\n11,1\n21,0\n")
	labels := write("labels.csv", "path,label,category\nclass 00/0.png,<a>,n\nclass 00/1.png,<a>,n\nclass 01/0.png,b,n\nclass 01/1.png,b,n\nclass 02/0.png,c,m\nclass 02/gone.png,c,m\n")
	page := filepath.Join(t.TempDir(), "page.html")
	args := []string{"--embeddings", x + "," + z, "--labels", labels, "--metric", "euclidean"}
	code, out, errs := vernier(t, append([]string{"report", "--json", "--neighbors", "3", "--out", page}, args...)...)
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	code, out, errs = vernier(t, append([]string{"eval", "--json"}, args...)...)
	var want run.RowFigures
	if err := json.Unmarshal([]byte(out), &want); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	if !reflect.DeepEqual(*r.Compared, want) || !reflect.DeepEqual(r.Results, want.Embeddings[0]) {
		t.Errorf("%+v\nwant %+v", r.Compared, want)
	}
	if r.Images != 6 || r.Classes != 3 || len(r.Hardest) != 0 || len(r.Drawn) != 6 || r.MapPoints != 6 || r.Confusion.Wrong != 0 || r.Drawn[0].Nearest[0].Distance != 1 || !r.Drawn[0].Nearest[0].Right {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{"x.csv", "z.csv", "Less x.csv, paired by query", "mean of 2", "R@1, 95%", "&lt;a&gt;, class 00/0.png", "t-SNE by euclidean (z.csv)", "6 rows of 3 classes"} {
		if !strings.Contains(string(text), says) {
			t.Errorf("the page says nothing of %q", says)
		}
	}
	if strings.Contains(string(text), images) || strings.Contains(string(text), "<a>,") || strings.Contains(string(text), "data.spec") {
		t.Error("the page names a folder, has a name as markup, or settings of a run")
	}
	for says, args := range map[string][]string{
		"already exists": {"--embeddings", x, "--labels", labels, "--out", page},
		"--split cannot be given with --embeddings":  {"--embeddings", x, "--labels", labels, "--split", "test"},
		"RUN is missing; or give --embeddings":       {},
		"--metric needs --embeddings: a RUN has its": {"runs/x", "--metric", "cosine"},
		"the name of a file is empty":                {"--embeddings", x + ",", "--labels", labels},
	} {
		if code, _, errs := vernier(t, append([]string{"report"}, args...)...); code == cli.ExitDone || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d, want %q in\n%s", args, code, says, errs)
		}
	}
}
