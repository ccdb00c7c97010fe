package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// scratch is device memory for what an operation needs while it runs. It is
// taken from the front at each operation, which the order of the stream allows.
// It grows, and what was outgrown is kept: recorded work may refer to it.
type scratch struct {
	memory *allocator
	block  block
	used   int64
}

const firstScratch = 4 << 20

func (s *scratch) take(bytes int64) (device.Ptr, error) {
	bytes = aligned(max(bytes, 1))
	if s.used+bytes > s.block.bytes {
		b, err := s.memory.take(max(firstScratch, 2*s.block.bytes, bytes))
		if err != nil {
			return 0, err
		}
		s.block, s.used = b, 0
	}
	p := s.block.ptr + device.Ptr(s.used)
	s.used += bytes
	return p, nil
}

// beginOp makes the scratch memory free for the operation that begins.
func (e *Engine) beginOp() { e.scratch.used = 0 }

// scratch returns memory until the end of the operation.
func (a *args) scratch(bytes int64) device.Ptr {
	if a.err != nil {
		return 0
	}
	p, err := a.eng.scratch.take(bytes)
	a.failed(err)
	return p
}

// floats is scratch for n float32 numbers.
func (a *args) floats(n int) device.Ptr { return a.scratch(4 * int64(n)) }
