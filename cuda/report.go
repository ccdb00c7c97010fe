package cuda

import "github.com/vernier-ml/vernier/cuda/internal/native"

// Report says what the GPU engine finds on a machine: devices, libraries, and
// the problems that keep it from running, each with what to do about it.
type Report = native.Report

// Device is a GPU as its driver describes it.
type Device = native.Device

// Problem is one thing in the way.
type Problem = native.Problem

// Folder is one that PathVariable names.
type Folder = native.Folder

// PathVariable names the environment variable with folders that are searched for
// cuBLAS and cuDNN before all others.
const PathVariable = native.PathVariable

// Folders says what PathVariable has and what is in there; it is nil if the
// variable is not set.
func Folders() []Folder { return native.HostPlaces().Folders() }

// Release writes a CUDA version number, 12040, as 12.4.
func Release(v int) string { return native.Release(v) }
