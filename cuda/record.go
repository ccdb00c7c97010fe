package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.Recorder = (*Engine)(nil)

// Attended counts the calls in which the host took part.
func (e *Engine) Attended() int { return e.attended }

// Record makes a CUDA graph of what f asks for. A stream is recorded for one
// thread, so f stays on it.
func (e *Engine) Record(f func() error) (engine.Recording, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := e.driver.BeginCapture(e.compute); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	e.recording, e.written = true, nil
	err := f()
	written := e.written
	e.recording, e.written = false, nil
	g, endErr := e.driver.EndCapture(e.compute)
	if err != nil || endErr != nil {
		if endErr == nil {
			endErr = e.driver.ReleaseGraph(g)
		}
		return nil, fmt.Errorf("cuda: %w", errors.Join(err, endErr))
	}
	return &recording{e, g, written}, nil
}

// recording is a CUDA graph.
type recording struct {
	eng     *Engine
	graph   device.Graph
	written []*Tensor
}

// Replay puts the recorded work into the queue.
func (r *recording) Replay() error {
	for _, t := range r.written {
		t.shadow = nil
	}
	return r.eng.driver.LaunchGraph(r.graph, r.eng.compute)
}

// Close forgets it.
func (r *recording) Close() error {
	if r.eng.driver == nil { // closed, and the recording with it
		return nil
	}
	return r.eng.driver.ReleaseGraph(r.graph)
}
