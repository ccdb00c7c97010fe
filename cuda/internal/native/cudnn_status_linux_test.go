//go:build cgo

package native

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// An algorithm for other GPUs is one that there is not; a cuDNN for others is none.
func TestACuDNNForOtherGPUsIsAnError(t *testing.T) {
	s := complete(t)
	_, x := pinned(t, s, 3)
	conv := device.Conv{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1, Ho: 1, Wo: 1, StrideH: 1, StrideW: 1}
	for where, none := range map[string]bool{"FAKE_FIND": false, "FAKE_ALGORITHM": true} {
		t.Setenv(where, "3007")
		_, err := s.Dnn.Plan(device.Forward, conv, device.Operands{X: x, W: x, Y: x}, 0, 1<<29)
		t.Setenv(where, "")
		if err == nil || errors.Is(err, device.ErrNoAlgorithm) != none || !none && !strings.Contains(err.Error(), "(status 3007): this release of cuDNN is not for this generation of GPU") {
			t.Errorf("%s: %v, no algorithm: want %v", where, err, none)
		}
	}
}

// A convolution is without an algorithm where cuDNN does not support it, by the
// numbers of cuDNN 8 and 9; whatever else cuDNN reports is an error.
func TestStatusesOfCuDNNAreToldApart(t *testing.T) {
	s := complete(t)
	_, x := pinned(t, s, 3)
	_, w := pinned(t, s, 5)
	_, y := pinned(t, s, make([]float32, 8)...)
	conv := device.Conv{N: 2, C: 3, H: 5, W: 6, K: 4, R: 3, S: 3, Ho: 5, Wo: 6, PadH: 1, PadW: 1, StrideH: 1, StrideW: 1}
	for _, c := range []struct {
		status int
		none   bool // no algorithm
		want   string
	}{
		{9, true, "CUDNN_STATUS_NOT_SUPPORTED (status 9)"},
		{3000, true, "CUDNN_STATUS_NOT_SUPPORTED (status 3000)"},
		{3001, true, "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN (status 3001)"},
		{2, false, "CUDNN_STATUS_ALLOC_FAILED (status 2): out of memory"},
		{4004, false, "DEVICE_ALLOCATION_FAILED (status 4004): out of memory"},
		{8, false, "CUDNN_STATUS_EXECUTION_FAILED (status 8)"},
		{5000, false, "CUDNN_STATUS_EXECUTION_FAILED (status 5000)"},
		{1002, false, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH (status 1002): files of cuDNN (libcudnn_cnn, libcudnn_ops ...) or of CUDA (libnvrtc) are missing or of several releases"},
		{3005, false, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER (status 3005): files of cuDNN"},
		{3008, false, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING (status 3008): files of cuDNN"},
		{3009, false, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE (status 3009): files of cuDNN"},
		{3, false, "CUDNN_STATUS_BAD_PARAM (status 3)"},
	} {
		for _, where := range []string{"FIND", "ALGORITHM", "DESCRIBE", "RUN"} {
			t.Setenv("FAKE_"+where, strconv.Itoa(c.status))
			g := conv
			g.Deterministic = where == "RUN" // which are tried
			_, err := s.Dnn.Plan(device.Forward, g, device.Operands{X: x, W: w, Y: y}, 0, 1<<29)
			t.Setenv("FAKE_"+where, "")
			// Of algorithms that are not supported only the count is reported.
			reported := where == "ALGORITHM" && c.none || err != nil && strings.Contains(err.Error(), c.want)
			if err == nil || errors.Is(err, device.ErrNoAlgorithm) != c.none || !reported {
				t.Errorf("%s ends with status %d: %v, want %q, no algorithm: %v", where, c.status, err, c.want, c.none)
			}
		}
	}
}
