package data

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// Shrunk returns the set with larger images resized to a shorter side (bilinear,
// antialiased) whenever they are loaded: the images that Prepare stores, without
// storing them. The result takes set over.
func Shrunk(set *Set, shorter int) (*Set, error) {
	if shorter < 1 {
		return nil, fmt.Errorf("shrink: shorter side %d, it must be positive", shorter)
	}
	out := *set
	out.store = shrunk{set.images(), shorter}
	return &out, nil
}

// shrunk is a store of smaller images.
type shrunk struct {
	store
	shorter int
}

// image resizes what counts of an image.
func (s shrunk) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	m, err := s.store.image(ctx, it)
	if err != nil {
		return nil, err
	}
	if _, done := s.store.(interface{ cropped() }); !done {
		if m, err = it.crop(m); err != nil {
			return nil, err
		}
	}
	return transform.Shrink{Size: s.shorter}.Apply(m, nil)
}

// cropped marks a store whose images are their items' boxes already.
func (s shrunk) cropped() {}

// PreparedFile describes the file that Prepare made or found.
type PreparedFile struct {
	Path       string
	Bytes      int64
	Unreadable int  // images that are not in it
	Built      bool // just now, rather than found
}

// Prepared tells of the file that a set's images come from, if it was prepared.
func (s *Set) Prepared() (file PreparedFile, ok bool) {
	p, ok := s.store.(*prepared)
	if !ok {
		return file, false
	}
	file = PreparedFile{Path: p.file, Bytes: int64(len(p.mapped)), Built: p.built}
	for _, e := range p.entries {
		if e.w == 0 {
			file.Unreadable++
		}
	}
	return file, true
}
