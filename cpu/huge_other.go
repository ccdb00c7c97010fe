//go:build !linux

package cpu

// preferHugePages does nothing where there is no way to ask for them.
func preferHugePages([]float32) {}
