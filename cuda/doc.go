// Package cuda is the GPU engine. It computes on NVIDIA devices by cuBLAS, cuDNN
// and its own kernels, in programs built with the tag gpu (make build-gpu); any
// other program holds what says so.
//
// Products with a bias are asked of cuBLASLt, which adds it as it writes; each shape
// is planned once. Where it has no algorithm, and for all other products,
// cublasGemmEx picks one itself, and there is nothing of a shape to be kept. GELU is
// a kernel of its own: the gradient needs what goes into it.
//
// A batch of images goes to one of two places in device memory by a stream of its
// own, while the step before is at work, as bytes; a kernel makes of them the numbers
// of the graph's input (Engine.Feed). That kernel is no part of what is recorded, so
// the recorded step reads one place.
//
// A step keeps the host waiting for the matrix of the loss alone, and for nothing where
// the device evaluates the loss (Engine.ProxyAnchor, ClassSoftmax, ReadLater): the norm of the
// gradient, and what clipping makes of it, stay on the device, where the optimizer
// reads them (Engine.Clip). A search leaves the distances there as well and brings
// what may be among the nearest (Engine.KthSmallest, Between), for package eval to
// settle in float64.
package cuda
