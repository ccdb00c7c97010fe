package data

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Reasons why a file does not become an image; errors.Is finds them.
var (
	ErrNotImage  = errors.New("not an image of a known format (JPEG, PNG, GIF, WebP, BMP, TIFF)")
	ErrEmptyFile = errors.New("empty file")
	ErrTruncated = errors.New("the file ends too early")
	ErrTooLarge  = errors.New("too large")
	ErrNoPixels  = errors.New("image without pixels")
)

// AlphaRule says what becomes of transparency.
type AlphaRule uint8

const (
	// AlphaDrop keeps the stored colour, as Pillow's convert("RGB") does.
	AlphaDrop AlphaRule = iota
	// AlphaWhite blends over white.
	AlphaWhite
)

// DefaultMaxPixels is the largest image that is decoded unless DecodeOptions
// says otherwise: 50 million pixels, 150 MB decoded.
const DefaultMaxPixels = 50_000_000

// DecodeOptions change how files become RGB. The zero value is what the code of
// the papers does.
type DecodeOptions struct {
	// Alpha drops transparency by default. (A GIF's fully transparent pixels
	// have no colour left and are black.)
	Alpha AlphaRule
	// EXIF applies the orientation that a camera noted; by default it is
	// ignored, as torchvision's loader ignores it.
	EXIF bool
	// MaxPixels bounds width x height; 0 means DefaultMaxPixels.
	MaxPixels int64
}

func (o DecodeOptions) maxPixels() int64 {
	if o.MaxPixels > 0 {
		return o.MaxPixels
	}
	return DefaultMaxPixels
}

// format is one kind of image file.
type format struct {
	name   string
	magic  func(head []byte) bool
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

func prefix(magics ...string) func([]byte) bool {
	return func(head []byte) bool {
		for _, m := range magics {
			if bytes.HasPrefix(head, []byte(m)) {
				return true
			}
		}
		return false
	}
}

func isWebP(head []byte) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// formatOf finds the format by the first bytes; the file's name says nothing.
func formatOf(head []byte) (format, bool) {
	for _, f := range [...]format{
		{"JPEG", prefix("\xff\xd8\xff"), jpeg.DecodeConfig, jpeg.Decode},
		{"PNG", prefix("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode},
		{"GIF", prefix("GIF87a", "GIF89a"), gif.DecodeConfig, gif.Decode},
		{"WebP", isWebP, webp.DecodeConfig, webp.Decode},
		{"BMP", prefix("BM"), bmp.DecodeConfig, bmp.Decode},
		{"TIFF", prefix("II*\x00", "MM\x00*"), tiff.DecodeConfig, tiff.Decode},
	} {
		if f.magic(head) {
			return f, true
		}
	}
	return format{}, false
}

// Decode makes an RGB image of a file's bytes: the first frame of a GIF, 16-bit
// samples by their high byte, grey on all three channels, CMYK and palettes
// converted. Errors do not name the file, which the caller knows.
func Decode(file []byte, o DecodeOptions) (*RGB, error) {
	return decodePart(file, o, nil)
}

// decodePart decodes what choose says of an image of w x h pixels, and no more
// where that is possible. It calls choose once, or not at all if the image
// cannot be read. The result is the same as that of decoding everything, to the
// bit, and so is the error: all of a file is read. nil chooses everything.
func decodePart(file []byte, o DecodeOptions, choose func(w, h int) image.Rectangle) (img *RGB, err error) {
	// The decoders of TIFF and WebP read untrusted bytes; what they may still
	// trip over must not end a training run.
	defer func() {
		if r := recover(); r != nil {
			img, err = nil, fmt.Errorf("damaged image: %v", r)
		}
	}()
	f, w, h, err := examine(file, o)
	if err != nil {
		return nil, err
	}
	turned := o.EXIF && f.name == "JPEG" && exifOrientation(file) != 1
	if f.name == "JPEG" && !turned {
		area := image.Rect(0, 0, w, h)
		if choose != nil {
			area = choose(w, h)
			choose = func(int, int) image.Rectangle { return area }
		}
		if img, err := decodeBaseline(file, area); err == nil {
			return img, nil
		}
	}
	decoded, err := f.decode(bytes.NewReader(file))
	if err != nil {
		return nil, decodeError(f, err)
	}
	canvas := decoded.Bounds()
	if f.name == "GIF" {
		canvas = image.Rect(0, 0, w, h)
	}
	img = toRGB(decoded, canvas, o.Alpha, f.name == "WebP")
	if turned {
		img = orient(img, exifOrientation(file))
	}
	if choose != nil {
		a := choose(img.W, img.H)
		img = img.Crop(a.Min.X, a.Min.Y, a.Dx(), a.Dy())
	}
	return img, nil
}

// examine reads the header only, and refuses what must not be decoded.
func examine(file []byte, o DecodeOptions) (f format, w, h int, err error) {
	if len(file) == 0 {
		return f, 0, 0, ErrEmptyFile
	}
	f, ok := formatOf(file)
	if !ok {
		return f, 0, 0, ErrNotImage
	}
	config, err := f.config(bytes.NewReader(file))
	if err != nil {
		return f, 0, 0, decodeError(f, err)
	}
	w, h = config.Width, config.Height
	if w <= 0 || h <= 0 {
		return f, w, h, fmt.Errorf("%w: %d x %d", ErrNoPixels, w, h)
	}
	if int64(w) > o.maxPixels()/int64(h) {
		return f, w, h, fmt.Errorf("%w: %d x %d pixels, at most %d pixels are decoded", ErrTooLarge, w, h, o.maxPixels())
	}
	return f, w, h, nil
}

// decodeError says which format was being read and whether the file was cut.
func decodeError(f format, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("damaged %s: %w", f.name, ErrTruncated)
	// The words of image/jpeg and image/png for data that stop half-way.
	case errors.Is(err, jpeg.FormatError("short Huffman data")), errors.Is(err, png.FormatError("not enough pixel data")):
		return fmt.Errorf("damaged %s: %w (%v)", f.name, ErrTruncated, err)
	}
	return fmt.Errorf("damaged %s: %w", f.name, err)
}
