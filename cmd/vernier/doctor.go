package main

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/spf13/cobra"

	"github.com/vernier-ml/vernier/cpu"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine offers and what to do about what it lacks",
		Long: `Say which CPU features, kernels, cores, memory and GPUs Vernier finds here, and
what to do where something is missing.`,
		Example: "  vernier doctor\n  vernier doctor --json",
		Args:    takes(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				r, err := examineForPrograms()
				if err != nil {
					return err
				}
				return writeJSON(cmd.OutOrStdout(), r)
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

	line("vernier", "%s, %s, %s/%s", versionName(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
	return examineGPU(line)
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
