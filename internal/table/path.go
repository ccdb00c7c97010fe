package table

import (
	"path"
	"regexp"
	"strings"
)

// Path is a path as a cell has it, with forward slashes: as it stands, or where no
// such file exists with its backslashes taken for the separators of Windows.
func Path(cell string, exists func(path string) bool) string {
	if !strings.Contains(cell, `\`) || exists(cell) {
		return path.Clean(cell)
	}
	cell = strings.ReplaceAll(cell, `\`, "/")
	if IsWindows(cell) && cell[0] == '/' { // the name of a computer keeps its two slashes
		return "/" + path.Clean(cell)
	}
	return path.Clean(cell)
}

var drive = regexp.MustCompile(`^([A-Za-z]:|//[^/]+/[^/]+)/`)

// IsWindows reports whether a path, as Path returns it, is absolute on Windows: it begins with a drive, or with
// two slashes and the name of a computer.
func IsWindows(path string) bool { return drive.MatchString(path) }
