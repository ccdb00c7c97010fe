package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Map maps a whole file for reading. The bytes stay valid until unmap, even
// if the file is replaced or removed.
func Map(name string) (b []byte, unmap func() error, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 {
		return nil, func() error { return nil }, nil
	}
	b, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: name, Err: err}
	}
	return b, func() error { return unix.Munmap(b) }, nil
}
