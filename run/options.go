package run

import "github.com/vernier-ml/vernier/comm"

// Options change nothing but time and what is reported.
type Options struct {
	Workers int // goroutines that prepare images, 0 for one a CPU
	Cache   CacheOptions
	Events  Events // nil for none
	// ModelOnly leaves out what the model has no part in: raw pixels, and the network
	// before training.
	ModelOnly bool
	// Comm connects ranks that embed a share of the images each, and search for a share of
	// the queries; nil for one. All call the same functions, and all get the result of one.
	Comm comm.Comm
}
