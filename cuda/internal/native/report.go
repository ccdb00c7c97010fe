package native

import (
	"errors"
	"fmt"
)

// Report says what the GPU engine finds on a machine.
type Report struct {
	// CUDA is the newest CUDA release that the driver knows, as 1000*major +
	// 10*minor; 0 without a driver.
	CUDA      int
	Devices   []Device // by their numbers
	Libraries []Found
	Problems  []Problem // what stands in the way; none if the engine can run
	Further   []Problem // what keeps several processes from summing on their devices
}

// Device is a GPU as its driver describes it.
type Device struct {
	Name         string
	Major, Minor int   // compute capability
	Bytes        int64 // memory
	// Trouble keeps this one from being used; zero for none.
	Trouble Problem
}

// Found is a library with its version, as 1.2.3, and the file that it is.
type Found struct{ Name, Version, Path string }

// Problem is one thing that is missing or wrong, and what to do about it.
type Problem struct {
	What, Advice string
	NoDriver     bool // the machine has none: it may well have no GPU
}

func (p Problem) Error() string {
	if p.Advice == "" {
		return p.What
	}
	return p.What + "; " + p.Advice
}

// Err joins the problems to one error, nil if there are none.
func (r Report) Err() error {
	var list []error
	for _, p := range r.Problems {
		list = append(list, p)
	}
	return errors.Join(list...)
}

// Release writes a CUDA version number as 12.4.
func Release(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Oldest of everything that the engine works with.
const (
	oldestCUDA    = 12000 // of the driver
	oldestMajor   = 7     // compute capability 7.0, Volta
	oldestCUDNN   = 8900
	newestRelease = 13 // of CUDA, that libraries are looked for
	oldestRelease = 12
)
