package tabular

import (
	"errors"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/linear"
)

// maxNeighbors bounds the nearest neighbors that vote.
const maxNeighbors = 1_000_000

// Limits are what the flags take of the command that New returns, by "COMMAND --NAME".
func Limits() map[string]cli.Limit {
	return map[string]cli.Limit{
		"linear fit --out":       cli.Both(cli.EndingIn(".json"), cli.InFolder),
		"linear transform --out": cli.Both(cli.EndingIn(".csv"), cli.InFolder),
		"linear eval --k":        cli.Whole(1, maxNeighbors), "linear eval --pairs": cli.Whole(1, 100_000_000),
		"linear compare --k": cli.Whole(1, maxNeighbors), "linear compare --train-share": cli.Between0And1,
		"linear compare --noise":       cli.Among(string(linear.Gaussian), string(linear.Impulse)),
		"linear compare --noise-level": cli.NotNegative,
	}
}

// Hint names the flags of the command that help with an error; "" if none does.
func Hint(err error) string {
	text := ""
	if errors.Is(err, linear.ErrMissing) {
		text += "; linear fit and compare fill these cells with --missing mean or --missing median, or leave the row out"
	}
	if errors.Is(err, linear.ErrNoLabel) {
		text += "; name it with --label, or give linear transform --no-label"
	}
	return text
}
