package cpu

import "golang.org/x/sys/cpu"

// available returns the kernels that this machine can run, best first.
func available() []*kernels {
	var all []*kernels
	x := &cpu.X86
	hasAVX2 := x.HasAVX2 && x.HasFMA && x.HasBMI2
	if hasAVX2 && x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
		all = append(all, avx512())
	}
	if hasAVX2 {
		all = append(all, avx2())
	}
	return append(all, portable())
}

// Features lists the instruction sets that this machine has, of those that the
// kernels use or could.
func Features() []string {
	var names []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx", cpu.X86.HasAVX}, {"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"bmi2", cpu.X86.HasBMI2},
		{"avx512f", cpu.X86.HasAVX512F}, {"avx512bw", cpu.X86.HasAVX512BW}, {"avx512dq", cpu.X86.HasAVX512DQ},
		{"avx512vl", cpu.X86.HasAVX512VL}, {"avx512vnni", cpu.X86.HasAVX512VNNI}, {"avx512bf16", cpu.X86.HasAVX512BF16},
		{"amx-tile", cpu.X86.HasAMXTile}, {"amx-bf16", cpu.X86.HasAMXBF16},
	} {
		if f.has {
			names = append(names, f.name)
		}
	}
	return names
}
