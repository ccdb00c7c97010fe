package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
)

// An unreadable image among many is left out and listed where --max-bad allows it, and
// ends the command with the flag's name where it does not.
func TestUnreadableImagesAreLeftOutWhereAllowed(t *testing.T) {
	run, images := trained(t)
	dir := t.TempDir()
	for _, class := range []string{"class 06", "class 07"} {
		if err := os.CopyFS(filepath.Join(dir, "set", class), os.DirFS(filepath.Join(images, class))); err != nil {
			t.Fatal(err)
		}
	}
	set := filepath.Join(dir, "set")
	bad, good := filepath.Join(set, "class 07", "bad.png"), filepath.Join(set, "class 07", "2.png")
	pairs := filepath.Join(dir, "pairs.csv")
	for file, text := range map[string]string{
		bad: "hello",
		pairs: "a,b,same\nset/class 06/0.png,set/class 06/1.png,1\nset/class 06/0.png,set/class 07/1.png,0\n" +
			"set/class 07/1.png,set/class 07/2.png,1\nset/class 06/0.png,set/class 07/bad.png,0\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := "folder:" + set
	for name, args := range map[string][]string{
		"embed":          {"embed", run, set},
		"index":          {"index", run, "--out", filepath.Join(dir, "a.index"), set},
		"index --data":   {"index", run, "--out", filepath.Join(dir, "b.index"), "--data", spec},
		"search":         {"search", run, "--data", spec, "--query", good},
		"eval":           {"eval", run, "--data", spec},
		"verify":         {"verify", run, "--data", spec},
		"verify pairs":   {"verify", run, "--pairs", pairs},
		"export":         {"export", run, "--data", spec, "--out", filepath.Join(dir, "export")},
		"search --query": {"search", run, "--data", "folder:" + images, "--query", good, "--query", bad},
	} {
		code, _, errs := vernier(t, args...)
		if code != cli.ExitFailed || !strings.Contains(errs, bad) || !strings.Contains(errs, "not an image: text that begins \"hello\"") ||
			!strings.Contains(errs, "--max-bad N leaves up to N unreadable images out, and lists them") {
			t.Errorf("%s: exit %d\n%s", name, code, errs)
		}
		code, text, errs := vernier(t, append(args, "--max-bad", "1")...)
		if code != cli.ExitDone || !strings.Contains(errs, "left out "+bad+": not an image") || strings.Contains(text, bad) {
			t.Errorf("%s --max-bad 1: exit %d\n%s", name, code, errs)
		}
	}
	_, text, _ := vernier(t, "index", "--check", filepath.Join(dir, "b.index"), "--json")
	var r indexReport
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Rows != 16 {
		t.Errorf("%s: %v", text, err)
	}
	_, text, _ = vernier(t, "verify", run, "--pairs", pairs, "--max-bad", "1", "--json")
	var v verification
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Same != 2 || v.Different != 1 {
		t.Errorf("%s: %v", text, err)
	}
	if code, _, errs := vernier(t, "embed", run, bad, "--max-bad", "9"); code != cli.ExitFailed || !strings.Contains(errs, "none of 1 image can be read") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "verify", run, good, bad, "--threshold", "1"); code != cli.ExitFailed || !strings.Contains(errs, "not an image") || strings.Contains(errs, "--max-bad") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
