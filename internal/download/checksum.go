package download

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// Checksum is what is published of a file's content: "md5:" or "sha256:" and
// hexadecimal digits, all of them or the first ones, as PyTorch puts them into the names
// of its files. "" stands for a file of which nothing is published.
type Checksum string

// MD5 and SHA256 are checksums by their digits.
func MD5(digits string) Checksum    { return Checksum("md5:" + digits) }
func SHA256(digits string) Checksum { return Checksum("sha256:" + digits) }

// algorithm returns the hash, how it is called, and the digits.
func (c Checksum) algorithm() (h hash.Hash, name, digits string) {
	kind, digits, _ := strings.Cut(string(c), ":")
	if kind == "md5" {
		return md5.New(), "MD5", digits
	}
	return sha256.New(), "SHA-256", digits
}

// Check refuses a checksum that is none.
func (c Checksum) Check() error {
	h, _, digits := c.algorithm()
	kind, _, _ := strings.Cut(string(c), ":")
	_, err := hex.DecodeString(digits)
	if c == "" {
		return nil
	}
	if kind != "md5" && kind != "sha256" || err != nil || len(digits) < 8 || len(digits) > 2*h.Size() {
		return fmt.Errorf("%q is no checksum: want md5: or sha256: and 8 hexadecimal digits or more", string(c))
	}
	return nil
}

// Verify reads a file; ErrWrongChecksum is in the chain of the error where it holds
// something else. Without a published checksum any content is right.
func (c Checksum) Verify(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if c == "" {
		return nil
	}
	h, name, digits := c.algorithm()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); !strings.HasPrefix(sum, digits) {
		return fmt.Errorf("%w: %s is %s, not %s", ErrWrongChecksum, name, sum, digits)
	}
	return nil
}
