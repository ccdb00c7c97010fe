package cpu

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns a slice of n numbers that ends (or starts, if atStart is set)
// at a page that must not be touched, so that reading or writing beyond it ends
// the test binary.
func guarded(t testing.TB, n int, atStart bool) []float32 {
	t.Helper()
	page := unix.Getpagesize()
	size := (4*n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, p := range [][]byte{m[:page], m[size+page:]} {
		if err := unix.Mprotect(p, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	from := page
	if !atStart {
		from = page + size - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[from])), n)
}
