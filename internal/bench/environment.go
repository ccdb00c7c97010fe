package bench

import (
	"slices"
	"strings"
)

// keepMemory makes glibc's malloc keep what a program frees. By default it returns large
// blocks to the system at once and asks for them anew in each step, and new memory can be
// so slow on virtual machines that a peer is measured at a fifth of its speed. Vernier
// keeps its memory itself.
var keepMemory = []string{
	"MALLOC_MMAP_THRESHOLD_=4294967296",
	"MALLOC_TRIM_THRESHOLD_=8589934592",
	"MALLOC_TOP_PAD_=268435456",
}

// notForPeers are variables that a peer does not inherit: choices of OpenBLAS's kernels
// that another program may have needed.
var notForPeers = []string{"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}

// peerEnvironment is the environment that a peer's command gets from one like os.Environ's.
// The command can set each variable otherwise.
func peerEnvironment(have []string) []string {
	drop := append(slices.Clone(notForPeers), peerVariable)
	for _, v := range keepMemory {
		drop = append(drop, variable(v))
	}
	rest := slices.DeleteFunc(slices.Clone(have), func(v string) bool { return slices.Contains(drop, variable(v)) })
	return append(rest, keepMemory...)
}

// variable is the name in a definition NAME=VALUE.
func variable(definition string) string {
	name, _, _ := strings.Cut(definition, "=")
	return name
}

// peerVariable, in the environment, holds the command of a peer for AsPeer.
const peerVariable = "VERNIER_BENCH_PEER"
