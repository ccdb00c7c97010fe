package wholefile

import (
	"fmt"
	"io"
	"os"
)

// Open opens a regular file for reading and refuses any other: to open a named pipe takes
// until somebody writes to it, and a device may never end.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.Open(path)
}

// Read is os.ReadFile of a regular file.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
