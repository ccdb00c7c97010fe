// Package cuda is the GPU engine. It computes on NVIDIA devices by cuBLAS, cuDNN
// and its own kernels, in programs built with the tag gpu (make build-gpu); any
// other program holds what says so.
package cuda
