//go:build gpu && linux && cgo

package cuda

import "github.com/vernier-ml/vernier/cuda/internal/native"

// Built reports whether this program holds the GPU engine.
const Built = true

// Examine finds what the engine needs on this machine: it loads driver and
// libraries, and lets them go.
func Examine() (Report, error) { return native.Explained() }
