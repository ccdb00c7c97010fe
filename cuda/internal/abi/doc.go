// Package abi holds no Go code: it is the C side of building the GPU engine
// without a CUDA SDK. include has a cuda.h with the part of the driver's binary
// interface that gorgonia.org/cu calls, forward a static libcuda.a whose
// functions jump into the driver's library where there is one. The Makefile
// builds the latter and points cgo at both.
package abi
