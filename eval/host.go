package eval

import (
	"fmt"

	"github.com/vernier-ml/vernier/cpu"
)

// orCPU returns eng and, in place of nil, an engine on all processors that lasts
// until done is called.
func orCPU(eng Engine) (e Engine, done func(), err error) {
	if eng != nil {
		return eng, func() {}, nil
	}
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("eval: %w", err)
	}
	return host, func() { host.Close() }, nil
}
