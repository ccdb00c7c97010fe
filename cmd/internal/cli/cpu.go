package cli

import (
	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/linear"
)

// CPUThreadsHelp is the help of --threads for commands that compute on the CPU alone.
const CPUThreadsHelp = "threads that compute, on the CPU in any case (default all cores)"

// NewCPU makes an engine on the CPU, which the caller closes; threads of 0 are all cores.
func NewCPU(threads int) (*cpu.Engine, error) {
	return cpu.New(cpu.Options{Threads: threads})
}

// newNarrowCPU makes one whose products are in bfloat16, or one in float32 with a warning in
// log where the processor cannot.
func newNarrowCPU(threads int, log *logrus.Logger) (*cpu.Engine, error) {
	e, err := cpu.New(cpu.Options{Threads: threads, Precision: cpu.BF16})
	if err != nil {
		log.Warnf("--precision bf16: %v", err)
		return NewCPU(threads)
	}
	log.Infof("computing on %s", e.Name())
	return e, nil
}

// WithCPU runs f with an engine on the CPU, and closes it.
func WithCPU(threads int, f func(linear.Engine) error) error {
	eng, err := NewCPU(threads)
	if err != nil {
		return err
	}
	defer eng.Close()
	return f(eng)
}
