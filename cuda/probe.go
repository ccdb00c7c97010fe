package cuda

import (
	"os"
	"path/filepath"
	"strings"
)

// Machine says what is known of the GPUs of this machine without a driver
// call: what the kernel module of NVIDIA's driver publishes, or that WSL has its library.
type Machine struct {
	// Driver is the first line of the kernel module's version file, or empty.
	Driver string
	// GPUs are the models, one a device.
	GPUs []string
}

// Probe looks at the machine.
func Probe() Machine { return probe("/proc/driver/nvidia", "/usr/lib/wsl/lib/libcuda.so.1") }

// probe looks into the kernel module's folder, and for the library that Windows'
// driver puts into WSL, which has no such module.
func probe(root, wsl string) Machine {
	var m Machine
	if _, err := os.Stat(wsl); err == nil {
		m.Driver = "NVIDIA's for Windows, through WSL"
	}
	if text, err := os.ReadFile(filepath.Join(root, "version")); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		m.Driver = strings.Join(strings.Fields(strings.TrimPrefix(first, "NVRM version:")), " ")
	}
	// Glob fails only on a malformed pattern.
	files, _ := filepath.Glob(filepath.Join(root, "gpus", "*", "information"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				m.GPUs = append(m.GPUs, strings.TrimSpace(model))
			}
		}
	}
	return m
}
