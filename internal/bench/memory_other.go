//go:build !linux

package bench

import "os"

// Neither is known here.
func peakMemory() float64               { return 0 }
func peakOf(p *os.ProcessState) float64 { return 0 }
