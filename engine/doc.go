// Package engine says what Vernier asks of whatever computes: the Engine interface
// with its tensors and the geometry of its operations. Packages cpu and cuda
// implement it; networks (layers), search and figures (eval) and linear learners
// are written over it and never ask which engine they have.
//
// Images are NCHW float32, embeddings row-major (B, h).
package engine
