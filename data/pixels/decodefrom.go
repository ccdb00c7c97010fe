package pixels

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// DecodeReader decodes the image that r holds from here to its end. What is no image,
// or too large a one, is refused after the first 64 KiB. Otherwise at most as many bytes
// are read as a file of d's Options.MaxPixels may have, and kept until they are
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
	limit := d.o.ByteLimit()
	rest, err := io.ReadAll(io.LimitReader(r, limit-int64(len(head))+1))
	if err != nil {
		return nil, err
	}
	if int64(len(head)+len(rest)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes, at most these are read for %d pixels", ErrTooLarge, limit, d.o.PixelLimit())
	}
	return d.Decode(ctx, append(head, rest...))
}
