package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/internal/bench"
)

func TestBenchPrintsALineOfJSONACase(t *testing.T) {
	code, out, errs := vernier(t, "bench", "gemm/32x100x512", "--seconds", "0.01", "--json", "--threads", "1")
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Name != "gemm" || r.Case != "32x100x512" || r.Samples < 3 || !(r.Seconds > 0 && r.GFLOPS > 0 && r.Limit > 0 && r.Share > 0) || !strings.Contains(r.Engine, "1 thread") {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(errs, "GFLOPS") {
		t.Errorf("no word about the kernels' limit: %q", errs)
	}
}

func TestBenchPrintsATable(t *testing.T) {
	code, out, errs := vernier(t, "-q", "bench", "conv/5b-3x3-forward", "--seconds", "0.01", "--batch", "1")
	if code != cli.ExitDone || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "conv/5b-3x3-forward") || !strings.Contains(lines[1], "img/s") {
		t.Errorf("got %q", out)
	}
}

func TestBenchSaysHowManyConvolutionsAreWithoutCuDNN(t *testing.T) {
	for count, want := range map[int]string{0: "", 1: "  1 convolution without cuDNN, far slower", 3: "  3 convolutions without cuDNN, far slower"} {
		var out strings.Builder
		r := bench.Result{Name: "x", WithoutCuDNN: &count}
		printResult(&out, r)
		if line := strings.TrimSuffix(out.String(), "\n"); !strings.HasSuffix(line, want) || strings.Contains(line, "cuDNN") != (count > 0) {
			t.Errorf("%d: %q", count, line)
		}
		text, err := json.Marshal(r)
		if want := fmt.Sprintf(`"convolutions_without_cudnn":%d`, count); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

func TestBenchComparesInTurn(t *testing.T) {
	code, out, errs := vernier(t, "bench", "gemm/32x100x512", "--seconds", "0.01", "--rounds", "2", "--json",
		"--compare", "echo 1 of 0.5 ms", "--peer-pattern", `of (?P<gflops>[\d.]+) ms`)
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var c bench.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Ours) != 2 || len(c.Other) != 2 || c.OtherMedian != .5 || !(c.Ratio > 0) {
		t.Errorf("%+v", c)
	}
}

func TestBenchSumsOverGoroutines(t *testing.T) {
	code, out, errs := vernier(t, "bench", "allreduce", "--seconds", "0.001", "--ranks", "3", "--json")
	if code != cli.ExitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("got %q", out)
	}
	for i, size := range []float64{1, 1 << 16, 1 << 20, 10.3e6} {
		var r bench.Result
		if err := json.Unmarshal([]byte(lines[i]), &r); err != nil || r.Ranks != 3 || r.Engine != "3 goroutines" || math.Abs(r.BytesS*r.Seconds/(4*size)-1) > 1e-9 {
			t.Errorf("%v: %+v", err, r)
		}
	}
}

func TestBenchListNamesEverything(t *testing.T) {
	code, out, _ := vernier(t, "bench", "list")
	if code != cli.ExitDone {
		t.Fatal(code)
	}
	for _, name := range []string{"gemm", "conv", "bninception-train", "bninception-infer", "resnet50-train", "resnet50-infer", "vit-s-train", "vit-s-infer", "brm-pairwise", "search", "allreduce"} {
		if !strings.Contains(out, "\n"+name+" ") && !strings.HasPrefix(out, name+" ") {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestBenchRefusesWhatMeansNothing(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "NAME"},
		{"gemmm", "gemm"},
		{"gemm/3", "1024"},
		{"gemm --batch 3", "no batch"},
		{"conv --batch -1", "--batch"},
		{"gemm --seconds 0", "--seconds"},
		{"gemm --threads -1", "--threads"},
		{"gemm --ranks 2", "--ranks: gemm runs as one"},
		{"allreduce --ranks 0", "--ranks"},
		{"allreduce --threads 2", "--threads: allreduce runs no engine"},
		{"allreduce --device cpu", "--device: allreduce runs no engine"},
		{"gemm/256 --rounds 0 --compare true", "--rounds"},
		{"gemm --compare true", "gemm/256"},
		{"gemm/256 --peer-pattern x", "--compare"},
		{"gemm/256 --compare true --peer-pattern (", "--peer-pattern"},
	} {
		code, _, errs := vernier(t, append([]string{"bench"}, strings.Fields(c.args)...)...)
		if code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("bench %s: exit %d, %q does not say %q", c.args, code, errs, c.want)
		}
	}
	code, _, errs := vernier(t, "bench", "gemm/32x100x512", "--seconds", "0.01", "--compare", "exit 7")
	if code != cli.ExitFailed || !strings.Contains(errs, "exit status 7") {
		t.Errorf("a peer that fails: exit %d, %s", code, errs)
	}
}
