// Package digest names a state of the kernels' sources, so that what was
// generated from them can be checked for being stale.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"regexp"
	"slices"
)

// include is a header that a file includes, or that it names for typed.h.
var include = regexp.MustCompile(`(?m)^#(?:include|define KERNELS) "([^"]+)"`)

// Files returns a source file of dir and the headers that it includes, themselves
// or by way of others, in the order of their names.
func Files(dir fs.FS, root string) ([]string, error) {
	list := []string{root}
	for i := 0; i < len(list); i++ {
		b, err := fs.ReadFile(dir, list[i])
		if err != nil {
			return nil, err
		}
		for _, m := range include.FindAllStringSubmatch(string(b), -1) {
			if !slices.Contains(list, m[1]) {
				list = append(list, m[1])
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// Of returns the first half of the SHA-256 of a source file of dir with all that
// it includes.
func Of(dir fs.FS, root string) (string, error) {
	files, err := Files(dir, root)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, path := range files {
		b, err := fs.ReadFile(dir, path)
		if err != nil {
			return "", err
		}
		h.Write([]byte(path + "\x00"))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
