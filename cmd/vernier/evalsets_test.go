package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/run"
)

// TestEvalOfOtherSetsSaysWhatTheyAre measures a run, of which the classes from
// "class 04" on are for testing, on its own images under other names and on lists of
// which one part of the split is missing.
func TestEvalOfOtherSetsSaysWhatTheyAre(t *testing.T) {
	images, folder := clitest.Stripes(t, 8, 4), filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(images, folder, "--epochs", "1", "--validation", "0", "--classes-per-batch", "3", "--images-per-class", "2")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	list := func(split string, from, to int) string {
		var b strings.Builder
		b.WriteString("path,label,split\n")
		for c := from; c < to; c++ {
			for i := range 4 {
				fmt.Fprintf(&b, "class %02d/%d.png,class %02d,%s\n", c, i, c, split)
			}
		}
		file := filepath.Join(images, split+".csv")
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return "csv:" + file
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.CopyFS(moved, os.DirFS(images)); err != nil {
		t.Fatal(err)
	}
	half, test, training := list("val", 2, 6), list("test", 4, 8), list("train", 4, 8)
	for _, c := range []struct {
		data, split string
		classes     int // of which figures are
		seen        [2]int
		says        string
	}{
		{"folder:" + images, "", 8, [2]int{4, 16}, "4 of its 8 classes and 16 of its 32 images were for training: these figures are not of unseen classes"},
		{"folder:" + moved, "", 8, [2]int{4, 16}, "16 of its 32 images were for training"},
		{half, "", 4, [2]int{2, 8}, "2 of its 4 classes and 8 of its 16 images were for training"},
		{half, "test", 4, [2]int{2, 8}, "8 of its 16 images were for training"},
		{test, "test", 4, [2]int{}, ""},
		{test, "all", 4, [2]int{}, ""},
		{test, "train", 0, [2]int{}, "has no images for train; its splits are: test, all"},
		{test, "validation", 0, [2]int{}, "its splits are: test, all"},
		{training, "train", 4, [2]int{}, ""},
		{training, "all", 4, [2]int{}, ""},
		{training, "test", 0, [2]int{}, "has no images for test; its splits are: train, all"},
		{"", "validation", 0, [2]int{}, "the run set no validation classes aside; its splits are: test, train, all"},
	} {
		args := []string{"eval", folder, "--json", "--restarts", "1"}
		if c.data != "" {
			args = append(args, "--data", c.data)
		}
		if c.split != "" {
			args = append(args, "--split", c.split)
		}
		code, out, errs := vernier(t, args...)
		if !strings.Contains(errs, c.says) || (code == cli.ExitDone) != (c.classes > 0) {
			t.Errorf("%s, split %q: exit %d, no %q in\n%s", c.data, c.split, code, c.says, errs)
			continue
		}
		if c.classes == 0 {
			continue
		}
		var r run.Results
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		if r.Model.Classes != c.classes || r.Seen != nil && [2]int{r.Seen.Classes, r.Seen.Images} != c.seen || r.Seen == nil && c.seen != [2]int{} {
			t.Errorf("%s, split %q: %d classes, seen %+v", c.data, c.split, r.Model.Classes, r.Seen)
		}
	}
	code, _, errs := vernier(t, "eval", folder, "--k", "1,15,1000", "--restarts", "1")
	if code != cli.ExitDone || !strings.Contains(errs, "--k 15,1000: an image has 15 others, so that all of them are among the nearest") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "eval", folder, "--k", "1,2,1"); code != cli.ExitUsage || !strings.Contains(errs, "1 is there twice") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
