package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

func TestEveryLossTermAndMetricIsListedAndDescribed(t *testing.T) {
	_, list, _ := vernier(t, "losses")
	infos, err := losses.List(metric.Metric{Kind: metric.Cosine}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range slices.Concat(infos, losses.ListTerms(), losses.ListBatchTerms()) {
		code, out, errs := vernier(t, "losses", info.Name, "--metric", "cosine")
		if code != cli.ExitDone || !strings.Contains(out, info.Source) || !strings.Contains(list, "  "+info.Name+" ") {
			t.Errorf("losses %s: exit %d\n%s%s", info.Name, code, out, errs)
		}
		for _, p := range info.Params {
			if !strings.Contains(out, p.Meaning) || !strings.Contains(out, p.Range) {
				t.Errorf("losses %s does not describe %s\n%s", info.Name, p.Name, out)
			}
		}
	}
	_, list, _ = vernier(t, "metrics")
	for _, info := range metric.Infos() {
		name := info.Metric.Kind.String()
		code, out, _ := vernier(t, "metrics", name)
		if code != cli.ExitDone || !strings.Contains(out, info.Formula) || !strings.Contains(list, name) {
			t.Errorf("metrics %s: exit %d\n%s", name, code, out)
		}
	}
}

// Defaults follow the metric and its scale: D0 of brm is 0.523 at scale 1 and
// 0.721 at 2, and the contrastive margin v is D0.
func TestDefaultsAreThoseOfTheMetricAndScale(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"losses", "contrastive"}, "0.5231"},
		{[]string{"losses", "contrastive", "--scale", "2"}, "0.7211"},
		{[]string{"losses", "contrastive", "--metric", "euclidean"}, "1.414"},
		{[]string{"metrics", "brm", "--scale", "2"}, "0.7211"},
		{[]string{"metrics", "snr"}, "not symmetric"},
	} {
		if code, out, errs := vernier(t, c.args...); code != cli.ExitDone || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit %d, want %s in\n%s%s", c.args, code, c.want, out, errs)
		}
	}
}

func TestLossesAndMetricsAsJSON(t *testing.T) {
	var all struct {
		Metric string
		Losses []struct {
			Name, Columns string
			Params        []struct{ Name, Default, Range string }
		}
		Terms []struct{ Name string }
	}
	_, out, _ := vernier(t, "losses", "--json", "--metric", "brm:tanh")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	if all.Metric != "brm:tanh" || len(all.Losses) != len(losses.Names()) || all.Losses[0].Columns != "batch" || len(all.Terms) == 0 {
		t.Errorf("%+v", all)
	}
	var metrics []struct {
		Metric string
		Bound  *float64
		D0     float64
	}
	_, out, _ = vernier(t, "metrics", "--json")
	if err := json.Unmarshal([]byte(out), &metrics); err != nil {
		t.Fatal(err)
	}
	if len(metrics) != len(metric.Infos()) || *metrics[0].Bound != 1 || metrics[1].Bound != nil {
		t.Errorf("%+v", metrics)
	}
}

func TestWrongLossSettingsAreRefusedWithWhatIsRight(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	train := func(more ...string) []string {
		return append([]string{"train", "--data", "glyphs", "--out", missing}, more...)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"losses", "triplets"}, "want one of contrastive, triplet"},
		{[]string{"losses", "--metric", "no-such-metric"}, "euclidean"},
		{[]string{"losses", "--scale", "-1"}, "above 0"},
		{[]string{"losses", "a", "b"}, "unexpected"},
		{[]string{"metrics", "brm:relu"}, "softsign"},
		{[]string{"metrics", "--scale", "0"}, "above 0"},
		{train("--loss", "contrastive", "--loss-param", "u=0.6"), "0 <= u < v <= 1"}, // v is 0.523
		{train("--loss", "contrastive", "--loss-param", "v=1.2B"), "0 <= v <= 1"},
		{train("--loss", "triplet", "--loss-param", "margin=-0.1"), "0 < margin < 1"},
		{train("--loss-param", "temperature=-1"), "0 < temperature"},
		{train("--metric", "lorentz:c=0"), "positive"},
		{train("--term", "sex"), "want one of sec, norm, zero-mean, mdr, orthogonality, jrd, nasa"},
		{train("--term", "sec:momentum=2"), "0 < momentum <= 1"},
		{train("--term", "sec", "--term", "sec:weight=2"), "given twice"},
		{train("--term", "center:weight=-1"), "not negative"},
		{train("--memory", "50"), "smaller than a batch of 96"},
		{train("--memory", "500", "--loss", "proxy-anchor"), "for losses on pairs"},
		{train("--memory", "500", "--loss", "lifted"), "does not hold"},
		{train("--memory-start", "5"), "needs a size"},
		{train("--normalization", "columns"), "coordinates"},
	} {
		if code, _, errs := vernier(t, c.args...); code != cli.ExitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, want %q in\n%s", c.args, code, c.says, errs)
		}
	}
}

// Proxies, a learned boundary, a queue of embeddings, an average length and the
// statistics of coordinates all continue from the checkpoint.
func TestAnInterruptedRunGoesOnWithWhatItsLossOwns(t *testing.T) {
	interrupt(t, "--loss", "margin", "--loss-param", "learn=class", "--memory", "30", "--memory-start", "2", "--normalization", "coordinates",
		"--term", "sec:weight=0.1,momentum=0.5", "--term", "orthogonality:weight=0.1", "--term", "center:weight=0.2", "--term", "ibc:weight=0.1,heads=1")
}

// One and the same picture everywhere: all distances are 0, the loss is finite,
// and the log says that the embeddings have collapsed.
func TestCollapsedEmbeddingsAreReported(t *testing.T) {
	root := t.TempDir()
	picture := image.NewGray(image.Rect(0, 0, 16, 16))
	var text bytes.Buffer
	if err := png.Encode(&text, picture); err != nil {
		t.Fatal(err)
	}
	for c := range 8 {
		dir := filepath.Join(root, fmt.Sprintf("class %d", c))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, metric := range []string{"brm", "euclidean"} {
		run := filepath.Join(t.TempDir(), "run")
		code, _, errs := vernier(t, quick(root, run, "--metric", metric, "--loss", "triplet", "--loss-param", "mining=batch-hard", "--validation", "0", "--epochs", "1")...)
		if code != cli.ExitDone || !strings.Contains(errs, "have collapsed: distance between images of a batch is 0 everywhere") {
			t.Errorf("%s: exit %d\n%s", metric, code, errs)
		}
		log, err := os.ReadFile(filepath.Join(run, "log.jsonl"))
		if err != nil || strings.Contains(string(log), "diverged") || !strings.Contains(string(log), `"distance_mean":0`) {
			t.Errorf("%s: %v\n%s", metric, err, log)
		}
	}
}
