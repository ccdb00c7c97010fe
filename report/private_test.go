package report

import (
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

func TestSettingsNameNoFolderOfTheMachine(t *testing.T) {
	var cfg run.Config
	cfg.Model.Metric.P = 2
	cfg.Data.Spec, cfg.Weights.Path, cfg.Data.TrainClasses = "folder:/home/ann/secret/birds", "/home/ann/secret/w.pth", "/home/ann/secret/classes.txt"
	list, err := settings(cfg)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range list {
		if strings.Contains(s.Value, "secret") {
			t.Errorf("%s is %q", s.Name, s.Value)
		}
		if s.Value == "folder:birds" || s.Value == "w.pth" || s.Value == "classes.txt" {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d of 3 names are left: %v", found, list)
	}
}
