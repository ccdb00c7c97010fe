//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
)

// ones is y = x * w, of nine numbers 1 to 9 and a kernel of 1 to 9: 285.
func ones(t *testing.T, eng *Engine) (conv func() error, value func() float32) {
	t.Helper()
	x, w, y := filled(t, eng, 1, 1, 3, 3), filled(t, eng, 1, 1, 3, 3), filled(t, eng, 1, 1, 1, 1)
	conv = func() error { return eng.Conv(y, x, w, engine.SquareConv(3, 1, 0), engine.Epilogue{}) }
	value = func() float32 {
		got := make([]float32, 1)
		if err := eng.Read(got, y); err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	return conv, value
}

// warned is an engine whose warnings are kept.
func warned(t *testing.T) (*Engine, *fake.Dnn, *[]string) {
	t.Helper()
	said := new([]string)
	eng, dnn := onFake(t, fake.New(1<<30), Options{Warn: func(s string) { *said = append(*said, s) }})
	return eng, dnn, said
}

func TestAConvolutionThatCuDNNDoesNotSupportIsCountedAndWarnedOfOnce(t *testing.T) {
	eng, dnn, said := warned(t)
	dnn.Fail = fmt.Errorf("CUDNN_STATUS_NOT_SUPPORTED (status 3000): %w", device.ErrNoAlgorithm)
	conv, value := ones(t, eng)
	for range 3 {
		if err := conv(); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(); got != 285 {
		t.Errorf("%v, want 285", got)
	}
	if n := eng.PlainConvolutions(); n != 1 {
		t.Errorf("%d convolutions without cuDNN, want 1", n)
	}
	want := "a convolution is computed without cuDNN, by a kernel that may take a hundred times as long: forward of 1x1x3x3 (f32) with 1 kernels 3x3, stride 1x1, padding 0x0: CUDNN_STATUS_NOT_SUPPORTED (status 3000): there is no algorithm"
	if !slices.Equal(*said, []string{want}) {
		t.Errorf("warned %q, want once %q", *said, want)
	}
	if list := eng.Convolutions(); len(list) != 1 || !errors.Is(list[0].WithoutCuDNN, dnn.Fail) {
		t.Errorf("listed as %+v", list)
	}
}

// A cuDNN that does not work is no reason to compute a hundred times as slowly.
func TestOtherFailuresOfCuDNNAreErrors(t *testing.T) {
	for _, text := range []string{
		"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (status 1002)", "CUDNN_STATUS_ALLOC_FAILED (status 2)", "CUDNN_STATUS_EXECUTION_FAILED (status 5000)",
	} {
		eng, dnn, said := warned(t)
		dnn.Fail = errors.New(text)
		conv, value := ones(t, eng)
		err := conv()
		if !errors.Is(err, dnn.Fail) || !strings.Contains(err.Error(), "cuda: conv: forward of 1x1x3x3 (f32)") || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
		if n := eng.PlainConvolutions(); n != 0 || len(*said) != 0 {
			t.Errorf("%s: %d convolutions without cuDNN, warned %q", text, n, *said)
		}
		dnn.Fail = nil // the failure is not kept
		if err := conv(); err != nil || value() != 285 {
			t.Errorf("%s: after it is mended: %v, %v", text, err, value())
		}
	}
}

func TestTheChoiceOfAConvolutionIsListed(t *testing.T) {
	eng, _, _ := warned(t)
	conv, _ := ones(t, eng)
	if err := conv(); err != nil {
		t.Fatal(err)
	}
	list := eng.Convolutions()
	want := Convolution{Shape: "forward of 1x1x3x3 (f32) with 1 kernels 3x3, stride 1x1, padding 0x0", Algorithm: 1, Math: "float64", Workspace: 1 << 19, Millis: .5}
	if len(list) != 1 || list[0] != want {
		t.Errorf("listed as %+v, want %+v", list, want)
	}
}
