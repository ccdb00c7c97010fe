package cpu

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest"
)

func TestConformance(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		enginetest.Run(t, openEngine(t, variant, 2), enginetest.Options{Golden: true})
	})
}
