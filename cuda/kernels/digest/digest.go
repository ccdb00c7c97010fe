// Package digest names a state of the kernels' sources, so that what was
// generated from them can be told to be stale.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
)

// Of returns the first half of the SHA-256 of all files of a folder, in the
// order of their names.
func Of(dir fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dir, path)
		h.Write([]byte(path + "\x00"))
		h.Write(b)
		return err
	})
	if err != nil {
		return "unreadable: " + err.Error()
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
