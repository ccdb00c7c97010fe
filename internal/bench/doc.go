// Package bench holds the named benchmarks of vernier bench: what they compute,
// how it is timed, and how a peer program is timed beside it.
//
// A rate counts the multiplications and additions of an operation's definition
// (of a network, those of its products), whatever an engine makes of them: an
// engine with a fast convolution may pass its kernels' limit.
package bench
