package cpu

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/conformance"
)

func TestConformance(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		conformance.Run(t, openEngine(t, variant, 2), conformance.Options{Golden: true})
	})
}
