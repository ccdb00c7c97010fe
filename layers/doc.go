// Package layers holds the operations that networks and metrics are made of,
// with their gradients, written once over the Engine interface.
//
// A Graph wraps a Gorgonia expression graph of our own ops. Its methods
// (Conv, BatchNorm, Linear, Pairwise, ...) add a node and return it; Backward
// adds the reverse pass; Compile and Run execute the whole on a tape machine.
// An op never asks which engine it has: cpu, internal/reference and
// cuda implement the same interface and pass the same conformance suite.
//
// Metric is the value that training, evaluation, search and export share: a
// boundary-restricted metric (BRM), Euclidean, squared Euclidean or cosine,
// with its direction, its bound and its kernels.
//
// Images are NCHW float32, embeddings row-major (B, h).
package layers
