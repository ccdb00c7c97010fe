package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/cmd/internal/tabular"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/weights"
)

// hint names the flags that help with an error.
func hint(err error) string {
	text := tabular.Hint(err) + cli.TableHint(err)
	if several := new(weights.AmbiguousError); errors.As(err, &several) {
		text += "; with --weights-dict " + several.Prefixes[0] + " the first is read"
	}
	if other := new(weights.MismatchError); errors.As(err, &other) && other.Behind != "" {
		text += ", with --weights-dict " + other.Behind
	}
	return text
}

// advice names --max-bad where a command has it and an image cannot be read.
func advice(cmd *cobra.Command, err error) string {
	if bad := new(data.ImageError); errors.As(err, &bad) && offers(cmd, "max-bad") && !strings.Contains(err.Error(), "--max-bad") {
		return "--max-bad N leaves up to N unreadable images out, and lists them"
	}
	return ""
}

// offers reports whether a flag may be given to a command with its arguments: of the two
// images of verify, for one, none can be left out.
func offers(cmd *cobra.Command, flag string) bool {
	twoImages := cmd.Name() == verifyName && cmd.Flags().NArg() == 3
	return cmd.Flags().Lookup(flag) != nil && !(twoImages && slices.Contains(measuring, flag))
}
