// Package home expands ~ at the beginning of paths, which a shell does only where a word
// begins with it: not in folder:~/birds, --out=~/runs or a file of settings.
package home

import (
	"os"
	"path/filepath"
	"strings"
)

// Expand returns a path with the user's home folder in place of a leading ~, where it
// stands alone or before a slash. Where no home folder is known the path stays.
func Expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(dir, rest)
}
