package bench

import (
	"bytes"
	"fmt"
	"os"
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
