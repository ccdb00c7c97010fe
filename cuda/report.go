package cuda

import "github.com/vernier-ml/vernier/cuda/internal/native"

// Report says what the GPU engine finds on a machine: devices, libraries, and
// the problems that keep it from running, each with what to do about it.
type Report = native.Report

// Device is a GPU as its driver describes it.
type Device = native.Device

// Problem is one thing in the way.
type Problem = native.Problem

// Release writes a CUDA version number, 12040, as 12.4.
func Release(v int) string { return native.Release(v) }
