package engine

// Phase is the part of a step that a piece of work belongs to.
type Phase string

// The phases.
const (
	PhaseForward   Phase = "forward"
	PhaseBackward  Phase = "backward"
	PhaseLoss      Phase = "loss"
	PhaseOptimizer Phase = "optimizer"
	PhaseData      Phase = "data" // waiting for images, bringing them to the engine
)

// Work describes a piece of work to an Observer.
type Work struct {
	Name    string // of the node in a graph, or what is done
	Kind    string // "conv", "conv grad weights", "adamw": equal for equal operations
	Phase   Phase
	In, Out [][]int // shapes of what is read and written
	// FLOPs counts the multiplications and additions of products by their definition,
	// 0 for work that has none: a fast algorithm may need fewer.
	FLOPs float64
	// Bytes are those of all that is read and written, each number once: no way of
	// doing the work moves fewer through memory. 0 where that is not known.
	Bytes float64
}

// Observer is notified of the work of a step, such as a Graph's ops, while it is
// done. Work may contain other work: what began last ends first. After work that
// failed End is called too; after a panic it is not.
type Observer interface {
	Begin(w *Work)
	End()
}

// Observe does f as work that o, if it is not nil, is notified of.
func Observe(o Observer, w *Work, f func() error) error {
	if o == nil {
		return f()
	}
	o.Begin(w)
	defer o.End()
	return f()
}
