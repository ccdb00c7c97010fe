package data

import (
	"fmt"
	"image"
)

// fileStore holds images as files of a source.
type fileStore struct {
	source source
	decode DecodeOptions
}

func (s fileStore) name(it Item) string             { return s.source.name(it.Path) }
func (s fileStore) content(it Item) ([]byte, error) { return readFile(s.source, it.Path) }
func (s fileStore) close() error                    { return s.source.close() }

// stamp changes when the item's file does.
func (s fileStore) stamp(it Item) (string, error) { return s.source.stamp(it.Path) }

func (s fileStore) settings() string {
	return fmt.Sprintf("alpha %d, EXIF %v, at most %d pixels", s.decode.Alpha, s.decode.EXIF, s.decode.maxPixels())
}

func (s fileStore) image(it Item) (*RGB, error) { return s.part(it, nil) }

func (s fileStore) part(it Item, choose func(w, h int) image.Rectangle) (*RGB, error) {
	b, err := readFile(s.source, it.Path)
	if err != nil {
		return nil, err
	}
	return decodePart(b, s.decode, choose)
}
