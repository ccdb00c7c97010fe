package wholefile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Temporary names are a dot, the name that is to be, perhaps a dash, and a random
// number of about 19 digits. A process holds a lock on what it has under one, which
// the system gives back when the process ends, however it ends: what is not locked
// was left by one that was killed.

// minDigits is the number of digits from which on IsTemporary takes a name for a
// temporary one. One random number in 9000 has fewer digits; Sweep leaves its file.
const minDigits = 15

// IsTemporary reports whether a file or folder has a temporary name of what begins
// with prefix.
func IsTemporary(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, "."+prefix)
	digits := len(rest) - len(strings.TrimRight(rest, "0123456789"))
	return ok && digits >= minDigits
}

// Sweep removes what killed processes left in a folder under temporary names of what
// begins with prefix. What another process holds stays, as does what cannot be
// removed. A folder that cannot be read has nothing to be swept.
func Sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !IsTemporary(e.Name(), prefix) || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(path) // what stays is harmless
		}
		f.Close()
	}
}

// hold locks a file or folder that was just made under a temporary name, and reports
// whether it is still there: a Sweep may have come first.
func hold(f *os.File) bool {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return true // a file system without locks, where Sweep removes nothing
	}
	have, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(have, named)
}

// Folder is a temporary folder beside what it is for.
type Folder struct {
	Path string
	lock *os.File
}

// NewFolder makes a folder with a temporary name of what will be called name in a
// folder, after a Sweep of others of it.
func NewFolder(parent, name string) (*Folder, error) {
	Sweep(parent, name)
	for {
		path := filepath.Join(parent, fmt.Sprintf(".%s-%019d", name, rand.Int64()))
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if hold(f) {
			return &Folder{path, f}, nil
		}
		f.Close()
	}
}

// Remove removes the folder, if it was not renamed, and gives it free.
func (f *Folder) Remove() error {
	defer f.lock.Close()
	return os.RemoveAll(f.Path)
}
