//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/vernier-ml/vernier/internal/conformance"
)

// The whole engine runs here but NVIDIA's libraries: kernels on the host model
// of a GPU, products and convolutions by loops of package fake.
func TestConformanceOnAFakeDevice(t *testing.T) {
	e, _, _ := newFake(t, Options{})
	conformance.Run(t, e, conformance.Options{Golden: true})
}
