//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"os"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
)

// fullSuite names the variable that makes the tests on the fake device run every
// comparison; otherwise it is every sixth.
const fullSuite = "VERNIER_FULL_SUITE"

func every() int {
	if os.Getenv(fullSuite) != "" {
		return 1
	}
	return 6
}

// The whole engine runs here but NVIDIA's libraries: kernels on the host model
// of a GPU, products and convolutions by loops of package fake.
func TestConformanceOnAFakeDevice(t *testing.T) {
	e, _, _ := newFake(t, Options{})
	enginetest.Run(t, e, enginetest.Options{Golden: true, Every: every()})
}

// Where cuDNN has no algorithm, our own kernels convolve.
func TestConvolutionsWithoutALibrary(t *testing.T) {
	e, _, dnn := newFake(t, Options{})
	dnn.Refuse = func(device.Direction, device.Conv) bool { return true }
	enginetest.Run(t, e, enginetest.Options{Every: 2 * every(), Only: []string{"conv", "conv epilogue", "conv gradients"}})
	if dnn.Plans != 0 {
		t.Errorf("%d convolutions by the library", dnn.Plans)
	}
}

// In bfloat16 maps are stored with 8 bits of mantissa: the suite's tensors of
// three axes and more are made so.
func TestConformanceInBfloat16(t *testing.T) {
	e, _, _ := newFake(t, Options{Precision: BF16})
	opt := narrowOptions()
	opt.Every = every()
	enginetest.Run(t, narrowed{e}, opt)
}

func narrowOptions() enginetest.Options {
	return enginetest.Options{Sum: 5e-2, Elementwise: 1e-2, Narrow: true, Only: []string{
		"elementwise", "linear", "concat and slice", "slice of a relu gradient", "conv", "conv epilogue", "conv gradients",
		"batch norm", "frozen norm", "layer norm", "gelu", "attention", "tokens", "pool", "global pool",
	}}
}

// narrowed makes tensors of three axes and more as activations are made.
type narrowed struct{ *Engine }

func (n narrowed) New(shape ...int) (engine.Tensor, error) {
	if len(shape) >= 3 {
		return n.NewActivation(shape...)
	}
	return n.Engine.New(shape...)
}
