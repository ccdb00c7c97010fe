package data

import (
	"context"
	"fmt"
	"image"
	"io"

	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// fileStore holds images as files of a tree.
type fileStore struct {
	files  source.Tree
	decode *pixels.Decoder
}

func (s fileStore) name(it Item) string { return s.files.Name(it.Path) }
func (s fileStore) close() error        { return s.files.Close() }

// stamp changes when the item's file does.
func (s fileStore) stamp(it Item) (string, error) { return s.files.Stamp(it.Path) }

func (s fileStore) settings() string {
	o := s.decode.Options()
	return fmt.Sprintf("alpha %d, EXIF %v, at most %d pixels", o.Alpha, o.EXIF, o.PixelLimit())
}

func (s fileStore) content(it Item) ([]byte, error) {
	r, size, err := s.files.Open(it.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return pixels.ReadBounded(r, size, s.decode.Options().ByteLimit())
}

func (s fileStore) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	return s.part(ctx, it, nil)
}

// part decodes what choose says of an item's image.
func (s fileStore) part(ctx context.Context, it Item, choose func(w, h int) image.Rectangle) (*pixels.RGB, error) {
	return s.decode.DecodeFrom(ctx, func() (io.ReadCloser, int64, error) { return s.files.Open(it.Path) }, choose)
}

// DecodeFile decodes an image file within the memory that d has for all. It waits for
// that memory before it reads more than the head of the file. Errors do not name
// the file, which the caller knows.
func DecodeFile(ctx context.Context, d *pixels.Decoder, path string) (*pixels.RGB, error) {
	m, err := fileStore{source.Named{Tree: source.Folder{}}, d}.image(ctx, Item{Path: nametext.Encode(path)})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, err
}
