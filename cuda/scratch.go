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
	taken  int64 // by the operation, in all blocks
}

const firstScratch = 4 << 20

func (s *scratch) take(bytes int64) (device.Ptr, error) {
	bytes = aligned(max(bytes, 1))
	if s.used+bytes > s.block.bytes {
		b, err := s.memory.take(max(firstScratch, s.block.bytes, bytes))
		if err != nil {
			return 0, err
		}
		s.block, s.used = b, 0
	}
	p := s.block.ptr + device.Ptr(s.used)
	s.used += bytes
	s.taken += bytes
	return p, nil
}

// begin makes the memory free for the next operation. An operation that needed
// more than one block finds one that is large enough when it comes again, so
// that nothing is allocated from the second time on.
func (s *scratch) begin() error {
	if s.taken > s.block.bytes {
		b, err := s.memory.take(s.taken)
		if err != nil {
			return err
		}
		s.block = b
	}
	s.used, s.taken = 0, 0
	return nil
}

// scratch returns memory until the end of the operation.
func (a *args) scratch(bytes int64) device.Ptr {
	if a.err != nil {
		return 0
	}
	if b := a.eng.bundle; b != nil {
		p, err := b.take(bytes)
		a.failed(err)
		return p
	}
	p, err := a.eng.scratch.take(bytes)
	a.failed(err)
	return p
}

// floats is scratch for n float32 numbers.
func (a *args) floats(n int) device.Ptr { return a.scratch(4 * int64(n)) }
