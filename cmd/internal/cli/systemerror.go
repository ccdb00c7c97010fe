package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// systemErrors replaces what the operating system says of files in a message, as in
// "open x.csv: no such file or directory", by the file's name and a sentence.
func systemErrors(err error, text string) string {
	switch e := err.(type) {
	case *fs.PathError:
		text = replaceOnce(text, e.Error(), e.Path, pathSentence(e.Path, e.Err))
	case *os.LinkError:
		text = replaceOnce(text, e.Error(), e.New, pathSentence(e.New, e.Err))
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			text = systemErrors(inner, text)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text = systemErrors(inner, text)
		}
	}
	return text
}

// replaceOnce puts "path: sentence" in the place of said, and path alone once where the
// message names it before.
func replaceOnce(text, said, path, sentence string) string {
	text = strings.ReplaceAll(text, path+": "+said, said)
	return strings.ReplaceAll(text, said, path+": "+sentence)
}

// pathSentence says what is wrong with a path.
func pathSentence(path string, err error) string {
	dir := filepath.Dir(path)
	_, noDir := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && dir != "." && errors.Is(noDir, fs.ErrNotExist):
		return "there is no folder " + dir
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "this user has no right to it (permission denied)"
	case errors.Is(err, syscall.EISDIR):
		return "a folder, where a file is wanted"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of this path is a file, where a folder is wanted"
	case errors.Is(err, syscall.ENOSPC):
		return "no room is left on the disk"
	case errors.Is(err, syscall.EROFS):
		return "the disk can be read only"
	case errors.Is(err, syscall.ELOOP):
		return "a link that leads back to itself"
	case errors.Is(err, fs.ErrExist):
		return "it exists already"
	}
	return err.Error()
}
