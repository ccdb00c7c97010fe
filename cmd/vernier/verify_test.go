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
)

// trained makes a run on stripes and returns it with its images, of which the
// classes from "class 06" on are for testing.
func trained(t *testing.T) (run, images string) {
	t.Helper()
	images = clitest.Stripes(t, 12, 8)
	run = filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(images, run, "--epochs", "8", "--rate", "0.003", "--validation", "0.34")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	return run, images
}

func TestVerify(t *testing.T) {
	run, images := trained(t)
	image := func(class, i int) string {
		return filepath.Join(images, fmt.Sprintf("class %02d", class), fmt.Sprintf("%d.png", i))
	}
	if code, _, errs := vernier(t, "verify", run, image(6, 0), image(6, 1)); code != cli.ExitFailed || !strings.Contains(errs, "no threshold yet") {
		t.Errorf("before calibration: exit %d\n%s", code, errs)
	}

	t.Run("calibrate and store", func(t *testing.T) {
		roc, det := filepath.Join(t.TempDir(), "roc.png"), filepath.Join(t.TempDir(), "det.png")
		code, out, errs := vernier(t, "verify", run, "--calibrate", "far=0.05", "--store", "--json", "--roc", roc, "--det", det)
		var v verification
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != cli.ExitDone {
			t.Fatalf("exit %d, %v\n%s\n%s", code, err, out, errs)
		}
		// 3 of 6 test classes with 8 images each.
		if v.Identities != 3 || v.Same != 3*28 || v.Different != 3*64 || !v.All {
			t.Errorf("%d identities, %d same and %d different pairs, all %v", v.Identities, v.Same, v.Different, v.All)
		}
		if v.AUC < 0.7 || v.Calibrated.FAR > 0.05 || v.Stored != filepath.Join(run, "best.safetensors") || len(v.Curve) < 3 {
			t.Errorf("AUC %v, calibrated %+v, stored in %q, %d points", v.AUC, v.Calibrated, v.Stored, len(v.Curve))
		}
		for _, f := range []string{roc, det} {
			if info, err := os.Stat(f); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", f, err)
			}
		}
	})
	t.Run("two images", func(t *testing.T) {
		code, out, errs := vernier(t, "verify", run, image(6, 0), image(6, 0))
		if code != cli.ExitDone || !strings.Contains(out, "decision   same") {
			t.Errorf("an image and itself: exit %d\n%s\n%s", code, out, errs)
		}
		code, out, errs = vernier(t, "verify", run, image(6, 0), image(11, 1), "--json", "--threshold", "0")
		var v verdict
		if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitDifferent || errs != "" || v.Same || v.Distance <= 0 || v.A != image(6, 0) {
			t.Errorf("different images: exit %d, %v\n%s\n%s", code, err, out, errs)
		}
	})
	t.Run("the stored threshold is not measured on its own identities", func(t *testing.T) {
		code, out, errs := vernier(t, "verify", run)
		if code != cli.ExitDone || !strings.Contains(errs, "class ") || strings.Contains(out, "threshold 0") {
			t.Errorf("exit %d\n%s\n%s", code, out, errs)
		}
	})
	t.Run("calibrated on validation classes", func(t *testing.T) {
		code, out, errs := vernier(t, "verify", run, "--calibrate", "eer", "--calibrate-on", "validation")
		if code != cli.ExitDone || !strings.Contains(out, "of 6 identities") || !strings.Contains(out, "here: FAR") {
			t.Errorf("exit %d\n%s\n%s", code, out, errs)
		}
	})
	t.Run("a file of pairs", func(t *testing.T) { verifyByPairs(t, run, images) })
	t.Run("identities in both are named", func(t *testing.T) {
		code, _, errs := vernier(t, "verify", run, "--calibrate", "eer", "--calibrate-on", "test")
		if code != cli.ExitFailed || !strings.Contains(errs, "both in calibration and in test: class 06, class 07") {
			t.Errorf("exit %d\n%s", code, errs)
		}
	})
}

// verifyByPairs compares pairs given by files with the same given by the set.
func verifyByPairs(t *testing.T, run, images string) {
	list := filepath.Join(images, "pairs.csv")
	write := func(path func(class, i int) string, extra string) {
		t.Helper()
		var b strings.Builder
		b.WriteString("a,b,same\n")
		for c := 6; c < 12; c++ {
			for i := 1; i < 8; i++ {
				fmt.Fprintf(&b, "%s,%s,1\n%s,%s,0\n", path(c, 0), path(c, i), path(c, i), path(6+(c+i%5-5)%6, i))
			}
		}
		if err := os.WriteFile(list, []byte(b.String()+extra), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inFolder := func(class, i int) string { return fmt.Sprintf("class %02d/%d.png", class, i) }
	write(inFolder, "")
	var fromFiles, fromSet verification
	for into, args := range map[*verification][]string{&fromFiles: nil, &fromSet: {"--split", "test"}} {
		code, out, errs := vernier(t, append([]string{"verify", run, "--pairs", list, "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), into); err != nil || code != cli.ExitDone {
			t.Fatalf("%v: exit %d, %v\n%s\n%s", args, code, err, out, errs)
		}
	}
	if fromFiles.AUC != fromSet.AUC || fromFiles.Same != 42 || fromFiles.Different != 42 || fromFiles.Identities != 6 || fromSet.Identities != 6 {
		t.Errorf("by files %+v\nby the set %+v", fromFiles, fromSet)
	}
	code, out, errs := vernier(t, "verify", run, "--pairs", list, "--calibrate", "accuracy")
	if code != cli.ExitDone || !strings.Contains(out, "left out") || !strings.Contains(out, "here: FAR") {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	if code, _, errs := vernier(t, "verify", run, "--pairs", list, "--calibrate", "accuracy", "--calibrate-on", list); code != cli.ExitFailed || !strings.Contains(errs, "both in calibration and in test") {
		t.Errorf("calibrated on the same file: exit %d\n%s", code, errs)
	}
	for extra, says := range map[string]string{
		"class 06/1.png,class 06/2.png,0\n": "line 86: class 06/1.png and class 06/2.png are called different",
		"class 06/1.png,missing.png,0\n":    "missing.png",
		"class 06/1.png,../pairs.csv,0\n":   "pairs.csv",
	} {
		write(inFolder, extra)
		for _, args := range [][]string{nil, {"--split", "test"}} {
			code, _, errs := vernier(t, append([]string{"verify", run, "--pairs", list}, args...)...)
			if code != cli.ExitFailed || !strings.Contains(errs, says) {
				t.Errorf("%q %v: exit %d\n%s", extra, args, code, errs)
			}
		}
	}
}

func TestAThresholdBelowAllDistancesIsWrongUsage(t *testing.T) {
	run, images := trained(t)
	for _, more := range [][]string{nil, {filepath.Join(images, "class 06", "0.png"), filepath.Join(images, "class 06", "1.png")}} {
		code, _, errs := vernier(t, append([]string{"verify", run, "--threshold", "-1"}, more...)...)
		if code != cli.ExitUsage || !strings.HasPrefix(errs, "vernier: --threshold -1: want at least 0") {
			t.Errorf("%v: exit %d, want %d\n%s", more, code, cli.ExitUsage, errs)
		}
	}
}

func TestVerifyRefusesFlagsThatDoNotGoTogether(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"", cli.ExitUsage, "RUN is missing"},
		{"a", cli.ExitUsage, "B is missing"},
		{"a b c", cli.ExitUsage, "unexpected argument"},
		{"a b --calibrate eer", cli.ExitUsage, "--calibrate cannot be given with two images"},
		{"a b --data glyphs", cli.ExitUsage, "--data cannot"},
		{"--store", cli.ExitUsage, "--store needs --calibrate"},
		{"--calibrate best", cli.ExitUsage, "far=RATE"},
		{"--calibrate eer --threshold 1", cli.ExitUsage, "give one of them"},
		{"--threshold NaN", cli.ExitUsage, "finite"},
		{"--calibrate eer --calibrate-share 1", cli.ExitUsage, "between 0 and 1"},
		{"--calibrate eer --calibrate-on validation --calibrate-share 0.2", cli.ExitUsage, "is for --calibrate-on half"},
		{"--max-pairs 0", cli.ExitUsage, "want 1 to"},
		{"--curve 1", cli.ExitUsage, "want 2 to"},
		{"--split dev", cli.ExitUsage, "validation"},
		{"a b", cli.ExitFailed, "there is no folder"},
	} {
		args := []string{"verify"}
		if c.args != "" {
			args = append(append(args, missing), strings.Fields(c.args)...)
		}
		if code, _, errs := vernier(t, args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%q: exit %d, want %d with %q; it says\n%s", c.args, code, c.code, c.says, errs)
		}
	}
}

// TestArgumentsAndRatesThatAreNone: an empty argument is named, and a rate that no number of
// pairs can show is said in few digits.
func TestArgumentsAndRatesThatAreNone(t *testing.T) {
	images, run := clitest.Stripes(t, 8, 4), filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(images, run)...); code != cli.ExitDone {
		t.Fatal(errs)
	}
	for says, c := range map[string]struct {
		code int
		args []string
	}{
		"A is empty":     {cli.ExitUsage, []string{"verify", run, "", "b.png"}},
		"IMAGE is empty": {cli.ExitUsage, []string{"embed", run, ""}},
		"needs at least 1e+300 pairs of different": {cli.ExitFailed, []string{"verify", run, "--calibrate", "far=1e-300"}},
		"want a beta above 0, up to 1e6":           {cli.ExitUsage, []string{"verify", run, "--calibrate", "fbeta=1e308"}},
		"costs above 0, up to 1e12":                {cli.ExitUsage, []string{"verify", run, "--calibrate", "cost:prior=0.01,accept=1e308,reject=1"}},
	} {
		if code, _, errs := vernier(t, c.args...); code != c.code || !strings.Contains(errs, says) {
			t.Errorf("%v: exit %d, want %d with %q\n%s", c.args, code, c.code, says, errs)
		}
	}
	if code, out, errs := vernier(t, "verify", run, "--calibrate", "eer", "--calibrate-share", "0.0001"); code != cli.ExitDone || !strings.Contains(out, "on 2 of the 4 identities of") {
		t.Errorf("a share of less than two identities: exit %d\n%s%s", code, out, errs)
	}
}
