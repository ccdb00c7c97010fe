package cuda

import (
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
)

// module is kernels that the driver has compiled, or why it has not.
type module struct {
	kernels    map[string]device.Kernel
	capability int // that its PTX is for, ten times
	err        error
}

// kernel returns the kernel of a launch. Its module is loaded when the first of its
// kernels is asked for: a run needs a third of them, and one that a driver refuses
// takes only the operations that need it along. A refusal stands.
func (e *Engine) kernel(l kernels.Launch) (device.Kernel, error) {
	m, ok := e.modules[l.Module]
	if !ok {
		if err := e.attend(); err != nil {
			return 0, fmt.Errorf("module %s is loaded with its first kernel, which cannot be recorded: run the operation once before: %w", l.Module, err)
		}
		m = e.load(l.Module)
		e.modules[l.Module] = m
	}
	if m.err != nil {
		return 0, fmt.Errorf("module %s (PTX for compute capability %d.%d): %w", l.Module, m.capability/10, m.capability%10, m.err)
	}
	return m.kernels[l.Name], nil
}

func (e *Engine) load(name string) (m module) {
	text, err := kernels.PTX(name)
	if err != nil {
		return module{err: err}
	}
	m.capability = kernels.Capability(text)
	m.kernels, m.err = e.driver.Load(text, kernels.Names(name))
	return m
}
