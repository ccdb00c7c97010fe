//go:build cgo && linux && (amd64 || arm64)

package host

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// Buffer is memory between two pages that may not be touched, ending (up to an
// alignment of 16 bytes) at the second.
type Buffer struct {
	mapping []byte
	from    int
	size    int
}

// Allocate returns a buffer of size bytes, filled with a pattern that is NaN as
// float32 and as bfloat16.
func Allocate(size int) (*Buffer, error) {
	page := os.Getpagesize()
	inner := (max(size, 1) + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("%d bytes for a buffer: %w", size, err)
	}
	for _, guard := range [][]byte{m[:page], m[page+inner:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			return nil, fmt.Errorf("guard page: %w", err)
		}
	}
	b := &Buffer{mapping: m, from: page + (inner-size)/16*16, size: size}
	for i := range b.Bytes() {
		b.Bytes()[i] = 0xff
	}
	return b, nil
}

// Ptr is the address that kernels are given.
func (b *Buffer) Ptr() kernels.Ptr { return kernels.Ptr(uintptr(unsafe.Pointer(&b.mapping[b.from]))) }

// Bytes is the content.
func (b *Buffer) Bytes() []byte { return b.mapping[b.from : b.from+b.size] }

// Free gives the memory back; the buffer must not be used any more.
func (b *Buffer) Free() error { return syscall.Munmap(b.mapping) }
