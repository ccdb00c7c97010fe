// Package cuda is the home of the GPU engine and finds out what a machine has.
package cuda
