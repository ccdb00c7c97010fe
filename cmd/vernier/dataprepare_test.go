package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/internal/bench"
)

// asProgram, in the environment, makes the test binary be the program.
const asProgram = "VERNIER_TEST_AS_PROGRAM"

// TestMain keeps prepared pictures out of the cache folder of whoever runs the
// tests.
func TestMain(m *testing.M) {
	if code, is := bench.AsPeer(); is {
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	dir, err := os.MkdirTemp("", "vernier-test")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func TestPrepareMakesAFileOnceAndTrainUsesIt(t *testing.T) {
	set, cache := clitest.Stripes(t, 12, 6), t.TempDir()
	for i, want := range []string{"was made", "was there already"} {
		code, out, errs := vernier(t, "data", "prepare", "folder:"+set, "--cache", cache)
		if code != cli.ExitDone || !strings.Contains(out, "72 images") || !strings.Contains(out, want) {
			t.Fatalf("call %d: exit %d\n%s%s", i, code, out, errs)
		}
	}
	before := cached(t, cache)
	run := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(set, run, "--cache", cache)...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	if after := cached(t, cache); len(after) != 1 || after[0] != before[0] {
		t.Errorf("prepared files %q, were %q", after, before)
	}
	if code, out, errs := vernier(t, "data", "prepare", "glyphs"); code != cli.ExitDone || !strings.Contains(out, "nothing is stored") {
		t.Errorf("glyphs: exit %d\n%s%s", code, out, errs)
	}
}

// The cache may be left out or lost at any time after training.
func TestFiguresDoNotDependOnTheCache(t *testing.T) {
	set, run, cache := clitest.Stripes(t, 12, 6), filepath.Join(t.TempDir(), "run"), t.TempDir()
	if code, _, errs := vernier(t, quick(set, run, "--cache", cache)...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	_, want, _ := vernier(t, "eval", run, "--json", "--cache", cache)
	code, got, errs := vernier(t, "eval", run, "--json", "--no-cache")
	if code != cli.ExitDone || got != want || want == "" {
		t.Errorf("without: exit %d\n%s%s\nwith\n%s", code, got, errs, want)
	}
	unusable := filepath.Join(set, "class 00", "0.png", "sub")
	code, got, errs = vernier(t, "eval", run, "--json", "--cache", unusable)
	if code != cli.ExitDone || got != want || !strings.Contains(errs, "--no-cache") {
		t.Errorf("no folder to write to: exit %d\n%s%s", code, got, errs)
	}
}

func TestTrainWithoutCacheStoresNothing(t *testing.T) {
	set, run, cache := clitest.Stripes(t, 12, 6), filepath.Join(t.TempDir(), "run"), t.TempDir()
	if code, _, errs := vernier(t, quick(set, run, "--cache", cache, "--no-cache")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	if left := cached(t, cache); len(left) != 0 {
		t.Errorf("stored %q", left)
	}
	config, err := os.ReadFile(filepath.Join(run, "config.json"))
	if err != nil || !strings.Contains(string(config), `"shorter": 0`) {
		t.Errorf("configuration %s, %v", config, err)
	}
}

func cached(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.images"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
