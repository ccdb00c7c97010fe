package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/serve/api"
)

// Marks that are made by the requests of the page become pairs, on which a run is trained.
func TestMarksBecomePairs(t *testing.T) {
	folder, images := trained(t)
	dir := t.TempDir()
	index, marks, out := filepath.Join(dir, "images.index"), filepath.Join(dir, "marks.jsonl"), filepath.Join(dir, "pairs.csv")
	if code, _, errs := vernier(t, "index", folder, "--out", index, "--data", "folder:"+images); code != cli.ExitDone {
		t.Fatal(errs)
	}
	at, _, end := serving(t, folder, "--gallery", index, "--marks", marks)
	post := func(path string, body, into any) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.Post(at+path, "application/json", strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(into); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, r.Status, err)
		}
	}
	mark := func(found api.Result, n api.Neighbor, right bool) {
		t.Helper()
		var m any
		post("/mark", map[string]any{"query": found.Query, "name": "x", "key": n.Key, "right": right}, &m)
	}
	want := map[[2]string]string{}
	revised := 0
	for i := range 4 {
		query, err := filepath.EvalSymlinks(filepath.Join(images, fmt.Sprintf("class %02d", i), "0.png"))
		if err != nil {
			t.Fatal(err)
		}
		var found api.Found
		post("/v1/search", map[string]any{"path": query, "k": 3}, &found)
		for _, n := range found.Results[0].Neighbors {
			right := n.Class == fmt.Sprintf("class %02d", i)
			if i == 0 { // by mistake at first
				mark(found.Results[0], n, !right)
				revised++
			}
			mark(found.Results[0], n, right)
			same := map[bool]string{true: "1", false: "0"}[right]
			if _, ok := want[[2]string{n.Path, query}]; ok { // the other way round
				revised++
				continue
			}
			want[[2]string{query, n.Path}] = same
		}
	}
	end()
	code, text, errs := vernier(t, "gallery", "pairs", "--in", index, "--marks", marks, "--out", out)
	if code != cli.ExitDone || !strings.Contains(text, fmt.Sprintf("%s: %d pairs of %d marks", out, len(want), len(want)+revised)) || !strings.Contains(text, fmt.Sprintf("marked again, the last mark counts: %d marks", revised)) {
		t.Fatalf("exit %d\n%s%s", code, text, errs)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != len(want)+1 || strings.Join(rows[0], ",") != "a,b,same" {
		t.Fatalf("%v, %q", err, rows)
	}
	for _, r := range rows[1:] {
		if same, ok := want[[2]string{r[0], r[1]}]; !ok || same != r[2] {
			t.Errorf("%q, want %q", r, same)
		}
	}
	if code, text, errs = vernier(t, "data", "check", "folder:"+images, "--pairs", out); code != cli.ExitDone || !strings.Contains(text, "nothing is wrong") {
		t.Errorf("exit %d\n%s%s", code, text, errs)
	}
	code, _, errs = vernier(t, "train", "--data", "folder:"+images, "--pairs", out, "--pairs-per-batch", "4", "--weights", filepath.Join(folder, "best.safetensors"), "--size", "16", "--dim", "8", "--epochs", "1", "--out", filepath.Join(dir, "run"))
	if code != cli.ExitDone {
		t.Errorf("exit %d: %s", code, errs)
	}
	flat := filepath.Join(dir, "flat")
	if err := os.CopyFS(flat, os.DirFS(filepath.Join(images, "class 00"))); err != nil {
		t.Fatal(err)
	}
	if code, text, errs := vernier(t, "data", "check", "folder:"+flat); code != cli.ExitDone || !strings.Contains(text, "they have no labels") {
		t.Errorf("a folder without classes, exit %d\n%s%s", code, text, errs)
	}
	// Without a gallery that has the images there are no pairs; a file is not replaced.
	for _, bad := range []struct {
		args []string
		want string
	}{
		{[]string{"--in", index, "--marks", marks, "--out", out}, "already exists (--force replaces it)"},
		{[]string{"--in", index, "--marks", marks}, "--marks and --out are needed"},
		{[]string{"--in", index, "--marks", out, "--out", filepath.Join(dir, "x.csv")}, "line 1: this is no mark of vernier serve"},
	} {
		if code, _, errs := vernier(t, append([]string{"gallery", "pairs"}, bad.args...)...); code == cli.ExitDone || !strings.Contains(errs, bad.want) {
			t.Errorf("%v, exit %d: %s, want %q", bad.args, code, errs, bad.want)
		}
	}
}

// Lines that cannot be right are named, of images, of pairs and of classes.
func TestACheckOfPairs(t *testing.T) {
	_, images := trained(t)
	file := filepath.Join(t.TempDir(), "pairs.csv")
	text := "a,b,same\nclass 00/0.png,class 00/1.png,0\nclass 00/0.png,gone.png,1\nclass 01/0.png,class 01/1.png,1\nclass 01/0.png,class 01/1.png,0\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := vernier(t, "data", "check", "folder:"+images, "--pairs", file)
	for _, want := range []string{
		"line 2: the images are called different, and both are of class \"class 00\"",
		"line 3: there is no image gone.png in folder:" + images,
		"line 5: the images are called different here, and the same by line 4",
	} {
		if code != cli.ExitFailed || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
		}
	}
}
