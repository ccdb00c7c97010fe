package data

// fileStore holds images as files of a source.
type fileStore struct {
	source source
	decode DecodeOptions
}

func (s fileStore) name(it Item) string             { return s.source.name(it.Path) }
func (s fileStore) content(it Item) ([]byte, error) { return s.source.read(it.Path) }
func (s fileStore) close() error                    { return s.source.close() }

func (s fileStore) image(it Item) (*RGB, error) {
	b, err := s.source.read(it.Path)
	if err != nil {
		return nil, err
	}
	return Decode(b, s.decode)
}
