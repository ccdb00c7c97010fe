package run

// Options change nothing but time and what is reported.
type Options struct {
	Workers int // goroutines that prepare images, 0 for one a CPU
	Cache   CacheOptions
	Events  Events // nil for none
	// ModelOnly leaves out what the model has no part in: raw pixels, and the network
	// before training.
	ModelOnly bool
}
