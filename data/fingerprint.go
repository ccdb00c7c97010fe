package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"strings"
)

// Fingerprint identifies the list of images cheaply: SHA-256, in hexadecimal,
// over class, path, box and size in bytes of every item in order. It notices
// images that came, went, changed their class or their size, but reads none of
// them; Hash does. Of a set of NewSet it has Images.Version in place of sizes, of rows the size of their file.
func (s *Set) Fingerprint() string {
	sized, hasSizes := s.images().(interface{ stamp(Item) (string, error) })
	h := sha256.New()
	if own, ok := s.images().(*ownStore); ok {
		fmt.Fprintf(h, "version %q\n", own.of.Version)
	}
	if rows, ok := s.images().(rowStore); ok {
		fmt.Fprintf(h, "rows %s\n", rows.version())
	}
	for _, it := range s.Items {
		size := ""
		if hasSizes {
			stamp, err := sized.stamp(it)
			if err != nil { // a file that is missing may be skipped in training
				stamp = "missing"
			}
			size, _, _ = strings.Cut(stamp, " ") // what follows is a time or a checksum
		}
		fmt.Fprintf(h, "%q %q %v %s\n", s.Classes[it.Label], it.Path, it.Box, size)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Key identifies the content of item i, whatever its path: the SHA-256 of its file, in
// hexadecimal, and of an image that is cut out of a file the box behind it.
func (s *Set) Key(i int) (string, error) {
	if i < 0 || i >= len(s.Items) {
		return "", &ImageError{s.title(), fmt.Errorf("item %d, the set has %d", i, len(s.Items))}
	}
	it := s.Items[i]
	content, err := s.images().content(it)
	if err != nil {
		return "", &ImageError{s.images().name(it), err}
	}
	sum := sha256.Sum256(content)
	key := hex.EncodeToString(sum[:])
	if !it.Box.Empty() {
		key += "#" + boxText(it.Box)
	}
	return key, nil
}

// boxText is a box as X1,Y1,X2,Y2.
func boxText(b image.Rectangle) string {
	return fmt.Sprintf("%d,%d,%d,%d", b.Min.X, b.Min.Y, b.Max.X, b.Max.Y)
}
