package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/cuda"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine offers and what to do about what it lacks",
		Long: `Say which CPU features, kernels, cores, memory and GPUs Vernier finds here, and
what to do where something is missing.`,
		Example: "  vernier doctor\n  vernier doctor --json",
		Args:    cli.Takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				r, err := examineForPrograms()
				if err != nil {
					return err
				}
				return cli.WriteJSON(cmd.OutOrStdout(), r)
			}
			var report bytes.Buffer
			if err := examine(&report); err != nil {
				return err
			}
			_, err := report.WriteTo(cmd.OutOrStdout())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what is found as JSON")
	return cmd
}

func examine(w *bytes.Buffer) error {
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%-9s %s\n", what, fmt.Sprintf(format, args...))
	}
	advise := func(format string, args ...any) { line("", "-> "+format, args...) }

	line("vernier", "%s, %s, %s/%s", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	line("cores", "%d, of which %d are used", runtime.NumCPU(), runtime.GOMAXPROCS(0))
	features := cpu.Features()
	if len(features) == 0 {
		features = []string{"none that Vernier has kernels for"}
	}
	line("cpu", "%s", strings.Join(features, ", "))
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()
	line("kernels", "%s; possible here: %s", eng.Name(), strings.Join(cpu.Variants(), ", "))
	if len(cpu.Variants()) == 1 {
		advise("there are no vector kernels for this processor: training works, many times slower than with AVX2 or AVX-512")
	}
	if m, err := mem.VirtualMemory(); err != nil {
		line("memory", "unknown: %v", err)
	} else {
		line("memory", "%.1f GiB, %.1f GiB available", gib(m.Total), gib(m.Available))
		if gib(m.Available) < 2 {
			advise("less than 2 GiB is available: lower --classes-per-batch and --images-per-class")
		}
	}
	examineMPI(line)
	return examineGPU(line)
}

// examineMPI says which libraries of MPI several processes can use.
func examineMPI(line func(what, format string, args ...any)) {
	found := comm.Found()
	switch {
	case !comm.Built:
		line("mpi", "not in this build; make build-mpi builds one for several processes")
	case len(found) == 0:
		line("mpi", "no library found")
		line("", "-> for several processes install Open MPI or MPICH (Debian: openmpi-bin or mpich), or name the library in %s", comm.PathVariable)
	}
	for _, name := range found {
		line("mpi", "%s", name)
	}
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }

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
	for _, p := range r.Further {
		line("", "%s; several processes then sum gradients on the host", p.What)
		advise("%s", p.Advice)
	}
	for _, p := range r.Problems {
		line("gpu", "not used: %s", p.What)
		advise("%s", p.Advice)
	}
	if m.Driver == "" && len(r.Devices) == 0 {
		advise("or do nothing: Vernier runs on the CPU")
	}
}
