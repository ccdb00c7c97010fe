// Package native reaches the GPU's libraries: the driver's own library, cuBLAS
// and cuDNN are loaded while the program runs, wherever they are installed, and
// their functions are called through tables of typed C pointers. Nothing of them
// is needed to build it, and without them it says what is missing and what
// brings it.
//
// The types describe what was found and are part of every build; what loads
// needs cgo and Linux.
package native
