package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

func TestHomeFolderIsExpandedWhereNoShellDoes(t *testing.T) {
	root := clitest.Stripes(t, 4, 4)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.CopyFS(filepath.Join(home, "birds"), os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	config, classes := filepath.Join(home, "c.yaml"), filepath.Join(home, "classes.txt")
	for file, text := range map[string]string{classes: "class 00\nclass 01\n", config: "data: {spec: \"folder:~/birds\", train_classes: ~/classes.txt, validation: 0}\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := vernier(t, "data", "check", "folder:~/birds", "--train-classes=~/classes.txt"); code != cli.ExitDone {
		t.Errorf("data check: exit %d\n%s", code, errs)
	}
	for _, args := range [][]string{
		{"train", "--config=~/c.yaml", "--out=~/run1", "--size", "16", "--epochs", "1", "--classes-per-batch", "2", "--images-per-class", "2"},
		{"train", "--set", "data.spec=folder:~/birds", "--validation", "0", "--out=~/run2", "--size", "16", "--epochs", "1", "--classes-per-batch", "2", "--images-per-class", "2"},
		{"eval", "~/run1", "--data=folder:~/birds", "--json"},
		{"search", "~/run1", "--query=~/birds/class 00/0.png", "--data", "folder:~/birds"},
	} {
		args[1] = strings.Replace(args[1], "~", home, 1) // as a shell does
		if code, _, errs := vernier(t, args...); code != cli.ExitDone {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
	}
	for _, run := range []string{"run1", "run2"} {
		if _, err := os.Stat(filepath.Join(home, run, "config.json")); err != nil {
			t.Error(err)
		}
	}
	if code, _, errs := vernier(t, "data", "check", "folder:~/none"); code != cli.ExitFailed || !strings.Contains(errs, filepath.Join(home, "none")+": there is no such folder") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}
