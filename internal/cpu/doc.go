// Package cpu computes on the CPU: a layers.Engine without cgo.
package cpu
