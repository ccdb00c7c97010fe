// Package cuda is the GPU engine. It computes on NVIDIA devices by cuBLAS, cuDNN
// and its own kernels, in programs built with the tag gpu (make build-gpu); any
// other program holds what says so.
//
// Products are asked of cublasGemmEx and not of cuBLASLt: the library then picks the
// algorithm itself, in every version, with nothing of a shape to be
// planned, kept and found again. The price is one pass over the output for a bias
// and one for GELU, which cuBLASLt would do as it writes the product; neither occurs
// behind a convolution.
//
// A step keeps the host waiting for the matrix of the loss alone: the norm of the
// gradient, and what clipping makes of it, stay on the device, where the optimiser
// reads them (Engine.Clip). A search leaves the distances there as well and brings
// what may be among the nearest (Engine.KthSmallest, Between), for package eval to
// settle in float64.
package cuda
