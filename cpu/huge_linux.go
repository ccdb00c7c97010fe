package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a large page, in bytes.
const hugePage = 2 << 20

// preferHugePages asks for large pages behind x, which was not touched yet: with
// small ones the strided reads of packing miss the translation buffer all the
// time, and in a virtual machine each miss is twice as dear. Only whole large
// pages can be had; if there are none, all continues as before.
func preferHugePages(x []float32) {
	if len(x) < 2*hugePage/4 {
		return
	}
	from := uintptr(unsafe.Pointer(&x[0]))
	skip := (hugePage - from%hugePage) % hugePage / 4
	n := (uintptr(len(x)) - skip) * 4 / hugePage * hugePage
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&x[skip])), n), unix.MADV_HUGEPAGE)
}
