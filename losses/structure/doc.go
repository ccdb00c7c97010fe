// Package structure holds terms beside a loss that look at several representations of a
// batch at once: joint representation diversification (JRD) and neighborhood-adaptive
// structure (NASA). They compute in float64 on the host.
package structure
