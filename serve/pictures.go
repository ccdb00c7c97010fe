package serve

import (
	"bytes"
	"context"
	"image/png"
	"sync"

	"github.com/vernier-ml/vernier/data/pixels"
)

// shownSide is the longer side of a picture that is served, in pixels.
const shownSide = 224

// maxPictureBytes bounds the pictures that are kept.
const maxPictureBytes = 32 << 20

// pictures makes small pictures of the gallery, one at a time, since an image of a
// gallery may take a lot of memory. It keeps the latest.
type pictures struct {
	make func(ctx context.Context, row int) ([]byte, error)
	turn chan struct{}

	mu    sync.Mutex
	max   int
	bytes int
	order []int
	kept  map[int][]byte
}

func newPictures(max int, make func(context.Context, int) ([]byte, error)) *pictures {
	return &pictures{make: make, turn: newTurn(), max: max, kept: map[int][]byte{}}
}

func newTurn() chan struct{} { return make(chan struct{}, 1) }

// get returns a picture as PNG, or the context's error.
func (p *pictures) get(ctx context.Context, row int) ([]byte, error) {
	if b, ok := p.find(row); ok {
		return b, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b, ok := p.find(row); ok { // made while this request waited
		return b, nil
	}
	b, err := p.make(ctx, row)
	if err != nil {
		return nil, err
	}
	p.keep(row, b)
	return b, nil
}

func (p *pictures) find(row int) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.kept[row]
	return b, ok
}

func (p *pictures) keep(row int, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[row], p.order, p.bytes = b, append(p.order, row), p.bytes+len(b)
	for p.bytes > p.max {
		p.bytes -= len(p.kept[p.order[0]])
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
}

// picture makes the picture of a row.
func (s *Server) picture(ctx context.Context, row int) ([]byte, error) {
	img, err := s.cfg.Picture(ctx, row)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, pixels.Thumbnail(img, shownSide))
	return b.Bytes(), err
}
