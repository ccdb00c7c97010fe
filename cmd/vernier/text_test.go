package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/linear"
	"github.com/vernier-ml/vernier/weights"
)

func TestMessagesHaveNoNamesOfPackages(t *testing.T) {
	for in, want := range map[string]string{
		"eval: all rows are of class \"a\"":            "all rows are of class \"a\"",
		"runs/a: data: data: no images":                "runs/a: no images",
		"--device cuda: cuda: no driver is loaded":     "--device cuda: no driver is loaded",
		"a.pth: model: weights: a.pth: it is cut off":  "a.pth: a.pth: it is cut off",
		"run of metadata: model: damaged":              "run of metadata: damaged",
		"--data: which images?":                        "--data: which images?",
		"first\nlosses: second":                        "first\nsecond",
		"figure model.png: the disk is full":           "figure model.png: the disk is full",
		"--set data: data is a group of keys: not one": "--set data: data is a group of keys: not one",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestWhatATableLacksIsToldWithWhatHelps(t *testing.T) {
	got := errorText(fmt.Errorf("rows.csv: line 7, column \"b\" %w", linear.ErrMissing))
	if !strings.HasPrefix(got, `rows.csv: line 7, column "b" has no value; `) || !strings.Contains(got, "--missing median") {
		t.Errorf("it says %q", got)
	}
	if got := errorText(fmt.Errorf("rows.csv: %w, and so on", linear.ErrNoLabel)); got != "rows.csv: no column is called label, class or target, and so on; name it with --label, or give linear transform --no-label" {
		t.Errorf("it says %q", got)
	}
	if got := errorText(errors.New("train: no rows")); got != "no rows" {
		t.Errorf("it says %q", got)
	}
}

func TestErrorsAboutWeightsNameTheFlag(t *testing.T) {
	several := &weights.AmbiguousError{Path: "net.pth", Prefixes: []string{"s/encoder_k.", "s/encoder_q."}}
	if got := errorText(fmt.Errorf("start: %w", several)); !strings.HasSuffix(got, `; with --weights-dict s/encoder_k. the first is read`) || !strings.Contains(got, `["s/encoder_k." "s/encoder_q."]`) {
		t.Errorf("%q", got)
	}
	other := &weights.MismatchError{Path: "net.pth", Missing: []weights.Missing{{Name: "a"}}, Behind: "net_"}
	if got := errorText(other); !strings.HasSuffix(got, `behind the prefix "net_": choose that, with --weights-dict net_`) {
		t.Errorf("%q", got)
	}
}
