package layers

// Clipper is an Engine that clips a gradient while it moves parameters along it, so
// that the host need not wait for the gradient's norm in between.
type Clipper interface {
	// Clip measures the norm of the whole gradient xs. What it returns moves
	// parameters as if every gradient had been multiplied by what brings that
	// norm down to at most norm, and then every element limited to [-value,
	// value]; 0 means no limit. The gradients themselves stay as they are.
	Clip(xs []Tensor, norm, value float64) (Clipped, error)
}

// Clipped moves parameters along a clipped gradient, until the next call of Clip. If
// the gradient's norm is not finite it moves nothing.
type Clipped interface {
	Mover
	// Norm waits for the norm before clipping. It is kept for some calls of Clip
	// more, so that one may ask for it when it has long come.
	Norm() (float64, error)
}
