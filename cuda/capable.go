package cuda

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/native"
)

// capable reports whether a GPU can do what the options want.
func capable(d native.Device, opt Options) error {
	if d.Trouble != (native.Problem{}) {
		return d.Trouble
	}
	if d.Major < 7 {
		return fmt.Errorf("%s has compute capability %d.%d, 7.0 (Volta) or later is needed", d.Name, d.Major, d.Minor)
	}
	if opt.Precision == BF16 && d.Major < 8 {
		return fmt.Errorf("%s has compute capability %d.%d: bf16 needs 8.0 (Ampere) or later, take tf32", d.Name, d.Major, d.Minor)
	}
	return nil
}

// first opens the first of the devices, from that of the options' Turn on, that can do what
// the options want and that starts. It returns why those before it cannot, each with its number; if
// there is none, the same is the error.
func first(devices []native.Device, opt Options, open func(Options) (*Engine, error)) (e *Engine, passed []error, err error) {
	for k := range devices {
		i := (k + opt.Turn) % len(devices)
		d := devices[i]
		opt.Device = i
		if err = capable(d, opt); err == nil {
			if e, err = open(opt); err == nil {
				return e, passed, nil
			}
		}
		passed = append(passed, fmt.Errorf("cuda:%d: %w", i, err))
	}
	return nil, nil, errors.Join(passed...)
}

// NoDriver reports whether an error of Open or OpenFirst says that this machine has
// no driver at all, as one without a GPU.
func NoDriver(err error) bool {
	p := Problem{}
	return errors.As(err, &p) && p.NoDriver
}
