package bench

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// peakMemory is the most bytes that this process has had resident, or 0 if that
// is not known.
func peakMemory() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		var kib float64
		if _, err := fmt.Sscanf(string(line), "VmHWM: %f kB", &kib); err == nil {
			return kib * 1024
		}
	}
	return 0
}

// peakOf is the most bytes that a process which has ended had resident, itself
// or a child of its own.
func peakOf(p *os.ProcessState) float64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(usage.Maxrss) * 1024
	}
	return 0
}
