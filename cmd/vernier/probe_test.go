package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/run"
)

// Rows on a line, each near those of its class: every probe is right, in the table, the
// JSON and on the page.
func TestProbesOfFrozenEmbeddings(t *testing.T) {
	x, y := rowsOnALine(t, "x.npy", 0, 1, 2, 3, 10, 11, 12, 13), labelFile(t, "a", "a", "a", "a", "b", "b", "b", "b")
	asked := []string{"--knn", "1,2", "--probe"}
	args := append([]string{"eval", "--embeddings", x, "--labels", y, "--metric", "euclidean", "--restarts", "1"}, asked...)
	code, text, errs := vernier(t, append(args, "--json")...)
	r := &run.Results{}
	if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	f := r.Model.Probe
	if f == nil || f.Bank != 4 || f.Queries != 4 || f.Classes != 2 || len(f.Votes) != 2 || f.Votes[0].Percent != 100 || f.Votes[1].Weighted != 100 || f.Linear == nil || f.Linear.Percent != 100 {
		t.Fatalf("%s", text)
	}
	code, text, errs = vernier(t, args...)
	for _, want := range []string{"a bank of 4 rows of 2 classes, 4 queries", "1-NN  weighted   2-NN  weighted  linear  alignment  uniformity", "x.npy  100.0     100.0  100.0     100.0   100.0"} {
		if code != cli.ExitDone || !strings.Contains(text, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, text, errs)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	code, _, errs = vernier(t, append([]string{"report", "--embeddings", x, "--labels", y, "--metric", "euclidean", "--out", page}, asked...)...)
	html, err := os.ReadFile(page)
	if err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	for _, want := range []string{"4 queries of a bank of 4 rows of 2 classes", "2-NN, weighted</th><th scope=\"col\">linear probe</th>", "x.npy</th><td>100.0</td><td>100.0</td><td>100.0</td><td>100.0</td><td>100.0</td>"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// Of a gallery that is given apart all rows are the bank.
	code, text, errs = vernier(t, append(args, "--gallery", x, "--gallery-labels", y)...)
	if want := "a bank of 8 rows of 2 classes, 8 queries"; code != cli.ExitDone || !strings.Contains(text, want) {
		t.Errorf("exit %d, no %q in\n%s%s", code, want, text, errs)
	}
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"--knn", "0"}, "--knn: want whole numbers from 1 on"},
		{[]string{"--bank-share", "0.3"}, "--bank-share needs --knn or --probe"},
		{[]string{"--probe", "--bank-share", "1"}, "--bank-share 1: want a number between 0 and 1"},
	} {
		for _, name := range []string{"eval", "report"} {
			if code, _, errs := vernier(t, append([]string{name, "--embeddings", x, "--labels", y}, bad.args...)...); code != cli.ExitUsage || !strings.Contains(errs, bad.want) {
				t.Errorf("%s %v, exit %d: %s, want %q", name, bad.args, code, errs, bad.want)
			}
		}
	}
}
