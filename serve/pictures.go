package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/data/pixels"
)

// shownSide is the longer side of a picture that is served, in pixels.
const shownSide = 224

// maxPictureBytes bounds the pictures that are kept in memory.
const maxPictureBytes = 32 << 20

// pictures makes small pictures of the gallery, one at a time, since an image of a
// gallery may take a lot of memory. It keeps the latest.
type pictures struct {
	make func(ctx context.Context, key string) ([]byte, error)
	turn chan struct{}

	mu    sync.Mutex
	max   int
	bytes int
	order []string
	kept  map[string][]byte
}

func newPictures(max int, make func(context.Context, string) ([]byte, error)) *pictures {
	return &pictures{make: make, turn: newTurn(), max: max, kept: map[string][]byte{}}
}

func newTurn() chan struct{} { return make(chan struct{}, 1) }

// get returns a picture as PNG, or the context's error.
func (p *pictures) get(ctx context.Context, key string) ([]byte, error) {
	if b, ok := p.find(key); ok {
		return b, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b, ok := p.find(key); ok { // made while this request waited
		return b, nil
	}
	b, err := p.make(ctx, key)
	if err != nil {
		return nil, err
	}
	p.keep(key, b)
	return b, nil
}

func (p *pictures) find(key string) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.kept[key]
	return b, ok
}

func (p *pictures) keep(key string, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[key], p.order, p.bytes = b, append(p.order, key), p.bytes+len(b)
	for p.bytes > p.max {
		p.bytes -= len(p.kept[p.order[0]])
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
}

// forget drops the picture of a row that is no longer there.
func (p *pictures) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.order, key); i >= 0 {
		p.bytes -= len(p.kept[key])
		delete(p.kept, key)
		p.order = slices.Delete(p.order, i, i+1)
	}
}

// ErrNoPicture says that there is no image of a row.
var ErrNoPicture = errors.New("there is no picture of this row")

// picture makes the picture of a row: of the file that was put, or of the one at its path.
func (s *Server) picture(ctx context.Context, key string) ([]byte, error) {
	known, err := s.cfg.Gallery.Known(ctx, []string{key})
	if err != nil {
		return nil, err
	}
	row, there := known[key]
	if !there {
		return nil, failure{http.StatusNotFound, fmt.Errorf("no row of the gallery has the key %q", key)}
	}
	img, err := s.imageOf(ctx, key, row.Path)
	if errors.Is(err, ErrNoPicture) {
		err = failure{http.StatusNotFound, err}
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, pixels.Thumbnail(img, shownSide))
	return b.Bytes(), err
}

func (s *Server) imageOf(ctx context.Context, key, path string) (image.Image, error) {
	if s.kept != nil {
		file, err := s.kept.read(key)
		if err == nil {
			return s.decoder.Decode(ctx, file)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if s.cfg.Picture == nil || path == "" {
		return nil, ErrNoPicture
	}
	return s.cfg.Picture(ctx, path)
}

// image serves the picture of a row, made anew: what is sent is an image whatever the file
// holds.
func (s *Server) image(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	picture, err := s.pictures.get(r.Context(), key)
	if r.Context().Err() != nil { // nobody waits any longer
		return
	}
	if f := (failure{}); err != nil && !errors.As(err, &f) {
		err = fmt.Errorf("the image of %q cannot be read", key) // its place is nobody's business
	}
	if err != nil {
		finish(r.Context(), w, nil, err)
		return
	}
	sum := sha256.Sum256(picture)
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "private, no-cache") // asked for again, and answered in a line
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(picture))
}
