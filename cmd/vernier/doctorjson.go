package main

import (
	"fmt"
	"runtime"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/cuda"
)

// machineReport is what doctor says, for programs.
type machineReport struct {
	Version   string      `json:"version"`
	Go        string      `json:"go"`
	OS        string      `json:"os"`
	Arch      string      `json:"arch"`
	Cores     int         `json:"cores"`
	Used      int         `json:"cores_used"`
	CPU       []string    `json:"cpu_features"`
	Variants  []string    `json:"kernels"` // that are possible here, the best first
	Memory    uint64      `json:"memory_bytes,omitempty"`
	Available uint64      `json:"memory_available_bytes,omitempty"`
	MPIBuild  bool        `json:"mpi_build"`
	MPI       []string    `json:"mpi"` // libraries, with their files
	GPUBuild  bool        `json:"gpu_build"`
	Driver    string      `json:"driver,omitempty"` // by the kernel module
	CUDA      string      `json:"cuda,omitempty"`   // the newest release that the driver knows
	GPUs      []gpuReport `json:"gpus"`
	Libraries []library   `json:"libraries"`
	Problems  []trouble   `json:"problems"`          // that keep every GPU from being used
	Further   []trouble   `json:"further,omitempty"` // that keep GPUs of several processes from summing
}

// gpuReport is a GPU; Trouble is null if it can be used.
type gpuReport struct {
	Name       string   `json:"name"`
	Capability string   `json:"compute_capability,omitempty"`
	Memory     int64    `json:"memory_bytes,omitempty"`
	Trouble    *trouble `json:"trouble"`
}

type library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
}

type trouble struct {
	What   string `json:"what"`
	Advice string `json:"advice,omitempty"`
}

// examineForPrograms looks at the machine as examine does.
func examineForPrograms() (*machineReport, error) {
	r := &machineReport{
		Version: cli.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), Used: runtime.GOMAXPROCS(0), CPU: append([]string{}, cpu.Features()...), Variants: cpu.Variants(),
		MPIBuild: comm.Built, MPI: append([]string{}, comm.Found()...),
	}
	if m, err := mem.VirtualMemory(); err == nil {
		r.Memory, r.Available = m.Total, m.Available
	}
	found, err := cuda.Examine()
	if err != nil {
		return nil, fmt.Errorf("GPU libraries: %w", err)
	}
	r.addGPUs(cuda.Probe(), found)
	return r, nil
}

func (r *machineReport) addGPUs(m cuda.Machine, found cuda.Report) {
	r.GPUBuild, r.Driver = cuda.Built, m.Driver
	if found.CUDA > 0 {
		r.CUDA = cuda.Release(found.CUDA)
	}
	r.GPUs, r.Libraries, r.Problems = []gpuReport{}, []library{}, []trouble{}
	for _, d := range found.Devices {
		g := gpuReport{Name: d.Name, Memory: d.Bytes}
		if d.Bytes > 0 { // otherwise it could not be described
			g.Capability = fmt.Sprintf("%d.%d", d.Major, d.Minor)
		}
		if d.Trouble.What != "" {
			g.Trouble = &trouble{d.Trouble.What, d.Trouble.Advice}
		}
		r.GPUs = append(r.GPUs, g)
	}
	for _, l := range found.Libraries {
		r.Libraries = append(r.Libraries, library{l.Name, l.Version, l.Path})
	}
	for _, p := range found.Problems {
		r.Problems = append(r.Problems, trouble{p.What, p.Advice})
	}
	for _, p := range found.Further {
		r.Further = append(r.Further, trouble{p.What, p.Advice})
	}
}
