package cuda

import (
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/native"
)

// capable reports whether a GPU can do what the options want.
func capable(d native.Device, opt Options) error {
	if d.Major < 7 {
		return fmt.Errorf("%s has compute capability %d.%d, 7.0 (Volta) or later is needed", d.Name, d.Major, d.Minor)
	}
	if opt.Precision == BF16 && d.Major < 8 {
		return fmt.Errorf("%s has compute capability %d.%d: bf16 needs 8.0 (Ampere) or later, take tf32", d.Name, d.Major, d.Minor)
	}
	return nil
}
