package cpu

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arenaMemory returns n zeros and what gives them back. They are the system's and
// not the garbage collector's: it would let as much waste gather as there is
// memory in use before it looks, and keep an arena until then after its end. With
// them nobody may use a tensor after its arena has been closed, which layers.Arena
// demands.
func arenaMemory(n int) ([]float32, func() error, error) {
	if n < smallArena {
		return make([]float32, n), nil, nil
	}
	bytes, err := unix.Mmap(-1, 0, 4*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("%d MiB of memory: %w", 4*n>>20, err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), n), func() error { return unix.Munmap(bytes) }, nil
}

// smallArena is how many numbers are left to the garbage collector.
const smallArena = 1 << 18
