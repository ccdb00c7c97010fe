package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/linear"
	"github.com/vernier-ml/vernier/weights"
)

func TestWhatATableLacksIsToldWithWhatHelps(t *testing.T) {
	got := program().ErrorText(fmt.Errorf("rows.csv: line 7, column \"b\" %w", linear.ErrMissing))
	if !strings.HasPrefix(got, `rows.csv: line 7, column "b" has no value; `) || !strings.Contains(got, "--missing median") {
		t.Errorf("it says %q", got)
	}
	if got := program().ErrorText(fmt.Errorf("rows.csv: %w, and so on", linear.ErrNoLabel)); got != "rows.csv: no column is called label, class or target, and so on; name it with --label, or give linear transform --no-label" {
		t.Errorf("it says %q", got)
	}
	if got := program().ErrorText(errors.New("train: no rows")); got != "no rows" {
		t.Errorf("it says %q", got)
	}
}

func TestErrorsAboutWeightsNameTheFlag(t *testing.T) {
	several := &weights.AmbiguousError{Path: "net.pth", Prefixes: []string{"s/encoder_k.", "s/encoder_q."}}
	if got := program().ErrorText(fmt.Errorf("start: %w", several)); !strings.HasSuffix(got, `; with --weights-dict s/encoder_k. the first is read`) || !strings.Contains(got, `["s/encoder_k." "s/encoder_q."]`) {
		t.Errorf("%q", got)
	}
	other := &weights.MismatchError{Path: "net.pth", Missing: []weights.Missing{{Name: "a"}}, Behind: "net_"}
	if got := program().ErrorText(other); !strings.HasSuffix(got, `behind the prefix "net_": choose that, with --weights-dict net_`) {
		t.Errorf("%q", got)
	}
}
