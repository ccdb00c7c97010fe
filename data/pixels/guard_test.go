package pixels

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapAnonymous returns memory of the given number of pages behind which nothing may be read.
func mapAnonymous(pages int) (b []byte, unmap func(), err error) {
	page := os.Getpagesize()
	whole, err := unix.Mmap(-1, 0, (pages+1)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Mprotect(whole[pages*page:], unix.PROT_NONE); err != nil {
		return nil, nil, err
	}
	return whole[: pages*page : pages*page], func() { unix.Munmap(whole) }, nil
}
