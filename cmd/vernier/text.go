package main

import (
	"errors"
	"regexp"

	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/linear"
	"github.com/vernier-ml/vernier/weights"
)

// plain takes out of a message the names of packages, which tell a programmer who
// speaks and a user nothing.
func plain(message string) string {
	names := regexp.MustCompile(`(?m)(^|: )(?:(?:backbone|cpu|cuda|data|eval|gallery|layers|linear|losses|model|reference|report|serve|train|weights): )+`)
	return names.ReplaceAllString(message, "$1")
}

// errorText is an error for a user.
func errorText(err error) string {
	text := plain(systemErrors(err, setting.Text(err, flagOf)))
	if errors.Is(err, linear.ErrMissing) {
		text += "; linear fit and compare fill these cells with --missing mean or --missing median, or leave the row out"
	}
	if errors.Is(err, linear.ErrNoLabel) {
		text += "; name it with --label, or give linear transform --no-label"
	}
	if errors.Is(err, linear.ErrCell) {
		text += " (--drop, --categorical)"
	}
	if errors.Is(err, linear.ErrRange) {
		text += " (leave out --raw)"
	}
	if errors.Is(err, linear.ErrDecimal) {
		text += " with --decimal comma or --decimal point"
	}
	if several := new(weights.AmbiguousError); errors.As(err, &several) {
		text += "; with --weights-dict " + several.Prefixes[0] + " the first is read"
	}
	if other := new(weights.MismatchError); errors.As(err, &other) && other.Behind != "" {
		text += ", with --weights-dict " + other.Behind
	}
	return text
}
