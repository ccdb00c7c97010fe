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

// Rows on a line whose nearest neighbors are right stay so; each way has a line of the
// table, an object of the JSON, and a row of the page.
func TestFiguresAfterReRanking(t *testing.T) {
	x, y := rowsOnALine(t, "x.npy", 0, 1, 2, 10, 11, 12, 20, 21, 22), labelFile(t, "a", "a", "a", "b", "b", "b", "c", "c", "c")
	ways := []string{"--rerank", "k-reciprocal:k1=2,k2=1", "--rerank", "alpha-qe:n=1"}
	args := append([]string{"eval", "--embeddings", x, "--labels", y, "--metric", "euclidean", "--restarts", "1"}, ways...)
	code, text, errs := vernier(t, append(args, "--json")...)
	r := &run.Results{}
	if err := json.Unmarshal([]byte(text), r); err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	if len(r.Model.Reranked) != 2 {
		t.Fatalf("%s", text)
	}
	for i, method := range []string{"k-reciprocal:k1=2,k2=1,lambda=0.3", "alpha-qe:n=1,alpha=3"} {
		if f := r.Model.Reranked[i]; f.Method != method || f.Recall[0].K != 1 || f.Recall[0].Percent != 100 || f.MAPAtR != 1 || f.MAP != 1 || !(f.Seconds > 0) {
			t.Errorf("%+v, want all right by %s", f, method)
		}
	}
	if code, text, _ = vernier(t, args...); code != cli.ExitDone || !strings.Contains(text, "after re-ranking:") || !strings.Contains(text, "k-reciprocal:k1=2,k2=1,lambda=0.3  100.0") {
		t.Errorf("exit %d\n%s", code, text)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	code, _, errs = vernier(t, append([]string{"report", "--embeddings", x, "--labels", y, "--metric", "euclidean", "--out", page}, ways...)...)
	html, err := os.ReadFile(page)
	if err != nil || code != cli.ExitDone {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	for _, want := range []string{"After re-ranking", "x.npy, alpha-qe:n=1,alpha=3</th><td>100.0</td>"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, name := range []string{"eval", "report"} {
		if code, _, errs := vernier(t, name, "--embeddings", x, "--labels", y, "--rerank", "zhong"); code != cli.ExitUsage || !strings.Contains(errs, `unknown re-ranking "zhong"`) {
			t.Errorf("%s, exit %d: %s", name, code, errs)
		}
	}
}
