// Package host is a model of the GPU for tests: it runs the kernels' source,
// compiled as plain C, on memory of the host. Blocks run one after the other, the
// threads of a block as coroutines that change at barriers, in an order drawn
// anew each time; a barrier that only some threads reach is an error, and every
// buffer ends at a page that may not be touched.
//
// It needs cgo and Linux; elsewhere the package is empty.
package host
