package data

import "fmt"

// fileStore holds images as files of a source.
type fileStore struct {
	source source
	decode DecodeOptions
}

func (s fileStore) name(it Item) string             { return s.source.name(it.Path) }
func (s fileStore) content(it Item) ([]byte, error) { return s.source.read(it.Path) }
func (s fileStore) close() error                    { return s.source.close() }

// stamp changes when the item's file does.
func (s fileStore) stamp(it Item) (string, error) { return s.source.stamp(it.Path) }

func (s fileStore) settings() string {
	return fmt.Sprintf("alpha %d, EXIF %v, at most %d pixels", s.decode.Alpha, s.decode.EXIF, s.decode.maxPixels())
}

func (s fileStore) image(it Item) (*RGB, error) {
	b, err := s.source.read(it.Path)
	if err != nil {
		return nil, err
	}
	return Decode(b, s.decode)
}
