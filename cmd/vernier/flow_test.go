package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cmd/internal/clitest"
	"github.com/vernier-ml/vernier/run"
)

func TestEvalMixesByAFlowThatTheModelLacks(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	code, out, errs := vernier(t, "train", "--data", "folder:"+clitest.Stripes(t, 8, 4), "--size", "16", "--dim", "8", "--epochs", "1", "--validation", "0", "--classes-per-batch", "3", "--images-per-class", "2", "--out", folder)
	if code != 0 || strings.Contains(out, "geometry flow") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = vernier(t, "eval", folder, "--flow", "delta=1.5", "--restarts", "1")
	if code != 0 || !strings.Contains(out, "(which the model was not trained with)") || !strings.Contains(out, "class-sorted batches") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = vernier(t, "eval", folder, "--flow", "delta=1.5", "--flow-batch", "4", "--restarts", "1", "--json")
	var r run.Results
	if code != 0 || json.Unmarshal([]byte(out), &r) != nil || r.GeometryFlow == nil || r.GeometryFlow.Trained || r.GeometryFlow.Batch != 4 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := vernier(t, "eval", folder, "--flow", "delta"); code == 0 || !strings.Contains(errs, "--flow \"delta\": geometry flow") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

func TestTrainWithFlowReportsBatchesApart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	code, out, errs := vernier(t, "train", "--data", "folder:"+clitest.Stripes(t, 8, 4), "--size", "16", "--dim", "8", "--epochs", "1", "--validation", "0", "--classes-per-batch", "3", "--images-per-class", "2", "--flow", "delta=1.5,after=block2.conv", "--out", folder)
	recall, batches, ok := strings.Cut(out, "The same images in batches of 6")
	if code != 0 || !ok || !strings.Contains(recall, "R@1") || strings.Contains(batches, "R@1") || strings.Contains(out, "not trained with") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if !strings.Contains(errs, "block2.conv.flow: ") || strings.Contains(errs, "block1.conv.flow") {
		t.Errorf("the layer goes unmentioned:\n%s", errs)
	}
}
