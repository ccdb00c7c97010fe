// Package fake is a GPU for tests: device memory is memory of the host, kernels
// are their own source compiled as plain C (cuda/kernels/host), products and
// convolutions are loops in Go. It runs all that the GPU engine does but
// NVIDIA's libraries, and checks what a device would be silent about: memory
// that nobody allocated, events that nobody recorded, calls that break a
// recording.
//
// It needs cgo and Linux; elsewhere the package is empty.
package fake
