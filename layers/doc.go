// Package layers holds the operations that networks and metrics are made of,
// with their gradients, written once over the Engine interface.
//
// A Graph wraps a Gorgonia expression graph of our own ops. Its methods
// (Conv, BatchNorm, Linear, Pairwise, ...) add a node and return it; Backward
// adds the reverse pass; Compile and Run execute the whole on a tape machine.
// An op never asks which engine it has: cpu, cuda and internal/enginetest/reference
// implement the same interface and pass the same conformance suite.
//
// Images are NCHW float32, embeddings row-major (B, h).
package layers
