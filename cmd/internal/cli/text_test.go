package cli

import "testing"

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
