//go:build !gpu || !linux || !cgo

package cuda

// Built reports whether this program holds the GPU engine.
const Built = false

// Examine finds what the engine needs on this machine. A program that does not
// hold the engine can only say so.
func Examine() (Report, error) {
	return Report{Problems: []Problem{{
		What:   "this program was built without the GPU engine",
		Advice: "make build-gpu makes bin/vernier-gpu, which does; it needs gcc and no CUDA SDK",
	}}}, nil
}
