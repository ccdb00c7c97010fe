package wholefile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Digest is the SHA-256 of a regular file in hexadecimal.
func Digest(path string) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
