package data

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// DecodeFile decodes an image file, within the memory that d has for all. It waits for
// that memory before it reads more than the head of the file. Errors do not name
// the file, which the caller knows.
func (d *Decoder) DecodeFile(ctx context.Context, path string) (*RGB, error) {
	m, err := fileStore{namedSource{folderSource{""}}, d}.image(ctx, Item{Path: nametext.Encode(path)})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, err
}

// DecodeReader decodes the image that r holds from here to its end. What is no image,
// or too large a one, is refused after the first 64 KiB. Otherwise at most as many bytes
// are read as a file of d's DecodeOptions.MaxPixels may have, and kept until they are
// decoded. They do not count against the memory that d has for all while they are
// read: a reader that waits keeps no other image waiting.
func (d *Decoder) DecodeReader(ctx context.Context, r io.Reader) (*RGB, error) {
	head, err := io.ReadAll(io.LimitReader(r, headBytes))
	if err != nil {
		return nil, err
	}
	if _, _, err := examine(head, d.o); err != nil && !(errors.Is(err, ErrTruncated) && len(head) == headBytes) {
		return nil, err
	}
	limit := d.o.maxBytes()
	rest, err := io.ReadAll(io.LimitReader(r, limit-int64(len(head))+1))
	if err != nil {
		return nil, err
	}
	if int64(len(head)+len(rest)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes, at most these are read for %d pixels", ErrTooLarge, limit, d.o.maxPixels())
	}
	return d.Decode(ctx, append(head, rest...))
}
