package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/report"
)

func TestReport(t *testing.T) {
	run, images := trained(t)
	code, out, errs := vernier(t, "report", run, "--json", "--hardest", "3", "--drawn", "2", "--points", "20")
	var r struct {
		Page string
		report.Report
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
	}
	page, err := os.ReadFile(filepath.Join(run, "report.html"))
	if err != nil || r.Page != filepath.Join(run, "report.html") {
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
	if code, out, errs := vernier(t, "report", run, "--data", "folder:"+images, "--out", other); code != cli.ExitDone || strings.TrimSpace(out) != other {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if code, _, errs := vernier(t, "report", run, "--out", other); code != cli.ExitFailed || !strings.Contains(errs, "--force") {
		t.Errorf("over a file: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "report", run, "--points", "0"); code != cli.ExitUsage || !strings.Contains(errs, "--points 0") {
		t.Errorf("no points: exit %d\n%s", code, errs)
	}
}
