package cpu

import "golang.org/x/sys/cpu"

// available returns the kernels that this machine can run, best first. Every arm64
// processor that Go runs on has NEON.
func available() []*kernels { return []*kernels{neon(), portable()} }

// Features lists the instruction sets that this machine has, of those that the
// kernels use or could.
func Features() []string {
	names := []string{"neon"}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"fp16", cpu.ARM64.HasASIMDHP}, {"dotprod", cpu.ARM64.HasASIMDDP}, {"i8mm", cpu.ARM64.HasI8MM},
		{"sve", cpu.ARM64.HasSVE}, {"sve2", cpu.ARM64.HasSVE2},
	} {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}
