package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/clitest"
)

// trainedFile is the model file of a short run.
func trainedFile(t *testing.T) (file, data string) {
	t.Helper()
	data = clitest.Stripes(t, 8, 4)
	run := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(data, run, "--validation", "0")...); code != cli.ExitDone {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	return filepath.Join(run, "last.safetensors"), data
}

func TestWeightsInspectConvertAndCheck(t *testing.T) {
	file, _ := trainedFile(t)
	code, out, errs := vernier(t, "weights", "inspect", file)
	for _, says := range []string{"block1.conv.weight", "32x3x3x3", "float32", "3.4 KiB", "metadata vernier.model", "safetensors: 22 tensors"} {
		if code != cli.ExitDone || !strings.Contains(out, says) {
			t.Errorf("inspect: exit %d, does not say %q\n%s%s", code, says, out, errs)
		}
	}
	npz, back := filepath.Join(t.TempDir(), "a.npz"), filepath.Join(t.TempDir(), "b.safetensors")
	if code, _, errs := vernier(t, "weights", "convert", file, npz); code != cli.ExitDone {
		t.Fatalf("convert: exit %d\n%s", code, errs)
	}
	if code, _, errs := vernier(t, "weights", "convert", npz, back); code != cli.ExitDone {
		t.Fatalf("convert back: exit %d\n%s", code, errs)
	}
	type description struct {
		Format  string
		Tensors []struct {
			Name, DType string
			Shape       []int
		}
	}
	describe := func(file string) (d description) {
		t.Helper()
		code, out, errs := vernier(t, "weights", "inspect", file, "--json")
		if err := json.Unmarshal([]byte(out), &d); code != cli.ExitDone || err != nil {
			t.Fatalf("inspect --json: exit %d, %v\n%s", code, err, errs)
		}
		return d
	}
	if a, b := describe(file), describe(npz); a.Format != "safetensors" || b.Format != "npz" || len(a.Tensors) != 22 || len(b.Tensors) != 22 {
		t.Errorf("%s with %d tensors became %s with %d", a.Format, len(a.Tensors), b.Format, len(b.Tensors))
	}
	for _, f := range []string{file, npz, back} {
		code, out, errs := vernier(t, "weights", "check", f, "--backbone", "convnet")
		if code != cli.ExitDone || !strings.Contains(out, "20 tensors") || !strings.Contains(out, "2 ignored (embedding.weight, embedding.bias)") {
			t.Errorf("check %s: exit %d\n%s%s", f, code, out, errs)
		}
	}
	if code, _, errs := vernier(t, "weights", "check", file, "--backbone", "bninception"); code != cli.ExitFailed || !strings.Contains(errs, "is of convnet, a model by Vernier, and the network is bninception") {
		t.Errorf("check against another network: exit %d\n%s", code, errs)
	}
}

func TestWeightsMistakesAreExplained(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes.pth")
	if err := os.WriteFile(text, []byte("these are no weights"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"weights", "inspect"}, cli.ExitUsage, "FILE is missing"},
		{[]string{"weights", "inspect", text}, cli.ExitFailed, "not a weight file"},
		{[]string{"weights", "convert", text}, cli.ExitUsage, "TO is missing"},
		{[]string{"weights", "convert", text, text + ".onnx"}, cli.ExitUsage, ".npz"},
		{[]string{"weights", "convert", text, text}, cli.ExitFailed, "--force"},
		{[]string{"weights", "check", text}, cli.ExitUsage, "--backbone is missing"},
		{[]string{"weights", "check", text, "--backbone", "vgg"}, cli.ExitUsage, "resnet50"},
		{[]string{"weights", "check", text, "--backbone", "vits16", "--size", "225"}, cli.ExitUsage, "patches"},
		{[]string{"weights", "chek"}, cli.ExitUsage, "did you mean check"},
		{[]string{"eval", "--backbone", "convnet"}, cli.ExitUsage, "--data is missing"},
		{[]string{"eval", "--backbone", "convnet", "--data", "glyphs", "--epoch", "last"}, cli.ExitUsage, "--epoch"},
		{[]string{"eval", text, "--backbone", "convnet"}, cli.ExitUsage, "--backbone cannot be given with a RUN"},
		{[]string{"eval", "--backbone", "convnet", "--data", "glyphs", "--weights-dict", "a/"}, cli.ExitUsage, "--weights is missing"},
		{[]string{"eval", "--backbone", "convnet", "--data", "glyphs", "--trunk-end", "block9"}, cli.ExitUsage, "block4"},
		{[]string{"train", "--data", "glyphs", "--out", text + "2", "--freeze", "["}, cli.ExitUsage, "pattern"},
		{[]string{"train", "--data", "glyphs", "--out", text + "2", "--warmup-epochs", "20"}, cli.ExitUsage, "warm-up"},
		{[]string{"train", "--data", "glyphs", "--out", text + "2", "--dim", "0", "--head-norm", "batch"}, cli.ExitUsage, "linear layer"},
	} {
		if code, _, errs := vernier(t, c.args...); code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%v: exit %d, want %d with %q; it says\n%s", c.args, code, c.code, c.says, errs)
		}
	}
	for _, cmd := range []string{"weights", "weights inspect", "weights convert", "weights check"} {
		code, out, _ := vernier(t, append(strings.Fields(cmd), "--help")...)
		if code != cli.ExitDone || !strings.Contains(out, "Usage:") || !strings.Contains(out, "Examples:") {
			t.Errorf("vernier %s --help: exit %d\n%s", cmd, code, out)
		}
	}
}

// A network before training is measured as the baseline of a run that starts
// from the same weights is: by the same path.
func TestANetworkIsMeasuredWithoutARun(t *testing.T) {
	file, data := trainedFile(t)
	args := []string{"eval", "--backbone", "convnet:trunk-end=block3", "--weights", file, "--data", "folder:" + data, "--size", "16", "--json", "--restarts", "2"}
	code, out, errs := vernier(t, args...)
	if code != cli.ExitDone || !strings.Contains(errs, "15 tensors of a safetensors file; 7 ignored") {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	type figures struct {
		Model, Untrained *struct {
			Recall1  float64 `json:"recall@1"`
			MAPAtR   float64 `json:"map@r"`
			Queries  int     `json:"queries"`
			Distance string  `json:"distance"`
		}
	}
	var network, run figures
	if err := json.Unmarshal([]byte(out), &network); err != nil || network.Model == nil || network.Untrained != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if network.Model.Queries != 16 || network.Model.Distance != "cosine" {
		t.Errorf("%+v, want the 4 unseen classes with 4 images each, by cosine", *network.Model)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if code, _, errs := vernier(t, quick(data, dir, "--validation", "0", "--backbone", "convnet:trunk-end=block3", "--weights", file,
		"--dim", "0", "--metric", "cosine", "--freeze-bn-stats", "--epochs", "1")...); code != cli.ExitDone {
		t.Fatalf("train: exit %d\n%s", code, errs)
	}
	code, out, errs = vernier(t, "eval", dir, "--json", "--restarts", "2")
	if err := json.Unmarshal([]byte(out), &run); err != nil || code != cli.ExitDone || run.Untrained == nil {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	if run.Untrained.Recall1 != network.Model.Recall1 {
		t.Errorf("Recall@1 %v without a run, %v as the baseline of one", network.Model.Recall1, run.Untrained.Recall1)
	}
	// The run outlives the file.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	code, out, errs = vernier(t, "eval", dir, "--restarts", "2")
	if code != cli.ExitDone || strings.Contains(out, "before training") || !strings.Contains(errs, "not measured") {
		t.Errorf("without the weight file: exit %d\n%s%s", code, out, errs)
	}
}
