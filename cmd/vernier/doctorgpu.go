package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/cuda"
)

// examineGPU says what the machine has, by the kernel's word, and what of it the
// GPU engine can use.
func examineGPU(line func(what, format string, args ...any)) error {
	advise := func(format string, args ...any) { line("", "-> "+format, args...) }
	reportFolders(cuda.Folders(), line)
	m := cuda.Probe()
	if !cuda.Built && m.Driver == "" {
		line("gpu", "none found: no NVIDIA driver is loaded")
		advise("nothing to do: Vernier runs on the CPU")
		return nil
	}
	r, err := cuda.Examine()
	if err != nil {
		return fmt.Errorf("GPU libraries: %w", err)
	}
	reportGPUs(m, r, line)
	return nil
}

// reportFolders says what the user's own folders of libraries have.
func reportFolders(folders []cuda.Folder, line func(what, format string, args ...any)) {
	for _, f := range folders {
		line("libraries", "%s has %s", cuda.PathVariable, f)
		if f.Trouble != "" {
			line("", "-> take it out there; folders in %s that have cuBLAS or cuDNN come first, with : between them", cuda.PathVariable)
		}
	}
}

// reportGPUs says what there is, and what of it cannot be used and why.
func reportGPUs(m cuda.Machine, r cuda.Report, line func(what, format string, args ...any)) {
	advise := func(format string, args ...any) { line("", "-> "+format, args...) }
	usable := slices.ContainsFunc(r.Devices, func(d cuda.Device) bool { return d.Trouble == cuda.Problem{} })
	if len(r.Devices) == 0 && len(m.GPUs) > 0 {
		line("gpu", "%s (driver: %s)", strings.Join(m.GPUs, ", "), m.Driver)
	}
	for i, d := range r.Devices {
		if d.Bytes > 0 { // otherwise it could not be described
			line("gpu", "cuda:%d %s, compute capability %d.%d, %.1f GiB; the driver knows CUDA %s", i, d.Name, d.Major, d.Minor, gib(uint64(d.Bytes)), cuda.Release(r.CUDA))
		}
		if usable && d.Trouble.What != "" { // otherwise all troubles are among the problems
			line("gpu", "cuda:%d is not used: %s", i, d.Trouble.What)
			advise("%s", d.Trouble.Advice)
		}
	}
	for _, l := range r.Libraries {
		line("", "%s %s, %s", l.Name, l.Version, l.Path)
	}
	for _, p := range r.Problems {
		line("gpu", "not used: %s", p.What)
		advise("%s", p.Advice)
	}
	if m.Driver == "" && len(r.Devices) == 0 {
		advise("or do nothing: Vernier runs on the CPU")
	}
}
