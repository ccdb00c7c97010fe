package pixels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/tiff"
)

// Reasons why a file does not become an image; errors.Is finds them.
var (
	ErrNotImage  = errors.New("not an image of a known format (JPEG, PNG, GIF, WebP, BMP, TIFF, PNM)")
	ErrEmptyFile = errors.New("empty file")
	ErrTruncated = errors.New("the file ends too early")
	ErrTooLarge  = errors.New("too large")
	ErrNoPixels  = errors.New("image without pixels")
	// ErrTooMuchWork is a file that is made, or damaged, so that decoding would
	// take far longer than its size lets one expect.
	ErrTooMuchWork = errors.New("too much work for its size")
	// ErrUnsupported is a sound file of a known format that no decoder here reads.
	ErrUnsupported = errors.New("of a kind that is not read")
)

// AlphaRule says what becomes of transparency.
type AlphaRule uint8

const (
	// AlphaDrop keeps the stored color, as Pillow's convert("RGB") does.
	AlphaDrop AlphaRule = iota
	// AlphaWhite blends over white.
	AlphaWhite
)

// Options change how files become RGB. The zero value is what the code of
// the papers does.
type Options struct {
	// Alpha drops transparency by default. (A GIF's fully transparent pixels
	// have no color left and are black.)
	Alpha AlphaRule
	// EXIF applies the orientation that a camera noted; by default it is
	// ignored, as torchvision's loader ignores it.
	EXIF bool
	// MaxPixels bounds width x height; 0 means DefaultMaxPixels. A file may have
	// 8 bytes for each of them and 64 MiB besides.
	MaxPixels int64
	// Memory bounds the bytes of all decodes of a Decoder at one time; 0 means
	// DefaultMemory. An image that takes more is decoded alone.
	Memory int64
}

// format is one kind of image file.
type format struct {
	name  string
	magic func(head []byte) bool
	// header reads what comes before the pixels. Of a part of the file it is
	// right, or ErrUnexpectedEOF.
	header func(file []byte) (header, error)
	decode func(ctx context.Context, file []byte) (image.Image, error)
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

// formatOf finds the format by the first bytes; the file's name says nothing.
func formatOf(head []byte) (format, bool) {
	for _, f := range [...]format{
		{"JPEG", prefix("\xff\xd8\xff"), jpegHeader, decodeJPEG},
		{"PNG", prefix("\x89PNG\r\n\x1a\n"), pngHeader, decodePNG},
		{"GIF", prefix("GIF87a", "GIF89a"), gifHeader, decodeGIF},
		{"WebP", isWebP, webpHeader, decodeWebP},
		{"BMP", prefix("BM"), bmpHeader, decodeBMP},
		{"PNM", isPNM, pnmHeader, decodePNM},
		{"TIFF", prefix("II*\x00", "MM\x00*"), tiffHeader, decodeTIFF},
	} {
		if f.magic(head) {
			return f, true
		}
	}
	return format{}, false
}

// headerBy asks a library for the header. Decoding takes the image as the library
// stores it.
func headerBy(config func(io.Reader) (image.Config, error)) func([]byte) (header, error) {
	return func(file []byte) (header, error) {
		c, err := config(bytes.NewReader(file))
		return header{c.Width, c.Height, int64(c.Width) * int64(c.Height) * modelBytes(c.ColorModel)}, err
	}
}

// modelBytes is the size of a pixel in memory.
func modelBytes(m color.Model) int64 {
	switch m {
	case color.GrayModel, color.AlphaModel:
		return 1
	case color.Gray16Model, color.Alpha16Model:
		return 2
	case color.YCbCrModel:
		return 3
	case color.RGBAModel, color.NRGBAModel, color.CMYKModel, color.NYCbCrAModel:
		return 4
	}
	if _, palette := m.(color.Palette); palette {
		return 1
	}
	return 8
}

// Decode makes an RGB image of a file's bytes: the first frame of a GIF or WebP, 16-bit
// samples by their high byte, gray on all three channels, CMYK and palettes
// converted. Errors do not name the file, which the caller knows.
func Decode(file []byte, o Options) (*RGB, error) {
	return NewDecoder(o).Decode(context.Background(), file)
}

// Decode is the function Decode within the memory that d has for all.
func (d *Decoder) Decode(ctx context.Context, file []byte) (*RGB, error) {
	return d.part(ctx, file, nil)
}

// part decodes what choose says of an image of w x h pixels, and no more where
// that is possible. It calls choose once, or not at all if the image cannot be
// read. The result is the same as that of decoding everything, to the bit, and so
// is the error: all of a file is read. nil chooses everything.
func (d *Decoder) part(ctx context.Context, file []byte, choose func(w, h int) image.Rectangle) (*RGB, error) {
	f, h, err := examine(file, d.o)
	if err != nil {
		return nil, err
	}
	release, err := d.claim(ctx, h.cost(int64(len(file))))
	if err != nil {
		return nil, err
	}
	defer release()
	return d.decode(ctx, file, f, h, choose)
}

// decode does what part does once there is memory.
func (d *Decoder) decode(ctx context.Context, file []byte, f format, h header, choose func(w, h int) image.Rectangle) (img *RGB, err error) {
	defer recoverImage(&img, &err)
	turned := d.o.EXIF && f.name == "JPEG" && exifOrientation(file) != 1
	if f.name == "JPEG" && !turned {
		area := image.Rect(0, 0, h.w, h.h)
		if choose != nil {
			area = choose(h.w, h.h)
			choose = func(int, int) image.Rectangle { return area }
		}
		if img, err := decodeBaseline(ctx, file, area); err == nil {
			return img, nil
		}
	}
	decoded, err := f.decode(ctx, file)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, decodeError(f, err)
	}
	canvas := decoded.Bounds()
	if f.name == "GIF" {
		canvas = image.Rect(0, 0, h.w, h.h)
	}
	img = toRGB(decoded, canvas, d.o.Alpha, f.name == "WebP")
	if turned {
		img = orient(img, exifOrientation(file))
	}
	if choose != nil {
		a := choose(img.W, img.H)
		img = img.Crop(a.Min.X, a.Min.Y, a.Dx(), a.Dy())
	}
	return img, nil
}

// recoverImage makes an error of a panic. The decoders of TIFF and WebP read
// untrusted bytes; what they may still trip over must not end a training run.
func recoverImage(img **RGB, err *error) {
	if r := recover(); r != nil {
		*img, *err = nil, fmt.Errorf("damaged image: %v", r)
	}
}

// examine reads the header only, and refuses what must not be decoded.
func examine(file []byte, o Options) (f format, h header, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged image: %v", r)
		}
	}()
	if len(file) == 0 {
		return f, h, ErrEmptyFile
	}
	f, ok := formatOf(file)
	if !ok {
		return f, h, notImage(file)
	}
	if h, err = f.header(file); err != nil {
		return f, h, decodeError(f, err)
	}
	return f, h, h.check(o)
}

// kindError is ErrUnsupported with the kind.
func kindError(kind string) error { return fmt.Errorf("%w: %s", ErrUnsupported, kind) }

// decodeError says which format was being read, and whether the file was cut or
// is of a kind that the decoder does not know.
func decodeError(f format, err error) error {
	var kinds struct {
		jpeg jpeg.UnsupportedError
		png  png.UnsupportedError
		tiff tiff.UnsupportedError
	}
	switch {
	case errors.Is(err, ErrTooMuchWork):
		return fmt.Errorf("%s: %w; save it anew", f.name, err)
	case errors.Is(err, ErrUnsupported):
		return fmt.Errorf("%s %w; save it as PNG or JPEG", f.name, err)
	case errors.As(err, &kinds.jpeg), errors.As(err, &kinds.png), errors.As(err, &kinds.tiff):
		return fmt.Errorf("%s %w: %v; save it as PNG or JPEG", f.name, ErrUnsupported, err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("damaged %s: %w", f.name, ErrTruncated)
	// The words of image/jpeg and image/png for data that stop half-way.
	case errors.Is(err, jpeg.FormatError("short Huffman data")), errors.Is(err, png.FormatError("not enough pixel data")), errors.Is(err, png.FormatError("unexpected EOF")):
		return fmt.Errorf("damaged %s: %w (%v)", f.name, ErrTruncated, err)
	}
	return fmt.Errorf("damaged %s: %w", f.name, err)
}
