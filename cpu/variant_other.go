//go:build !amd64 && !arm64

package cpu

func available() []*kernels { return []*kernels{portable()} }

// Features lists the instruction sets of this machine that kernels could use.
func Features() []string { return nil }
