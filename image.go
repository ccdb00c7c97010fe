package vernier

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"os"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Image is what a Model embeds; File, Bytes, Reader and Picture make one. It is decoded
// when it is embedded: JPEG, PNG, GIF, WebP, BMP, TIFF or PNM, of which the content
// decides and not the name.
type Image struct {
	name string // of its file; empty for none
	load func(context.Context, *Model) (*pixels.RGB, error)
	row  []float32
	// sum, after load, is the SHA-256 of the file; nil for what is none.
	sum func() ([]byte, error)
}

// key is what a gallery knows the image by, as data.Set.Key: empty for what is no file.
func (img Image) key() (string, error) {
	if img.sum == nil {
		return "", nil
	}
	sum, err := img.sum()
	return hex.EncodeToString(sum), err
}

// File is the image in a file.
func File(path string) Image {
	return Image{
		name: path,
		load: func(ctx context.Context, m *Model) (*pixels.RGB, error) { return data.DecodeFile(ctx, m.decoder, path) },
		sum: func() ([]byte, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			h := sha256.New()
			_, err = io.Copy(h, f)
			return h.Sum(nil), err
		},
	}
}

// Files makes images of several files.
func Files(paths ...string) []Image {
	images := make([]Image, len(paths))
	for i, p := range paths {
		images[i] = File(p)
	}
	return images
}

// Bytes is the image whose file has the given content, which is not copied.
func Bytes(file []byte) Image {
	return Image{
		load: func(ctx context.Context, m *Model) (*pixels.RGB, error) { return m.decoder.Decode(ctx, file) },
		sum: func() ([]byte, error) {
			sum := sha256.Sum256(file)
			return sum[:], nil
		},
	}
}

// Reader is the image that r holds, whose end is that of the file. It can be embedded
// once. While it is read it keeps one of the goroutines that decode, of which there is
// one a processor: what comes slowly is better read first, and given as Bytes. Waiting
// for r does not end with a context.
func Reader(r io.Reader) Image {
	h := sha256.New()
	return Image{
		load: func(ctx context.Context, m *Model) (*pixels.RGB, error) {
			return m.decoder.DecodeReader(ctx, io.TeeReader(r, h))
		},
		sum: func() ([]byte, error) { return h.Sum(nil), nil },
	}
}

// Picture is an image that is decoded already, or was drawn. Its transparency is
// dropped. Package image/jpeg decodes with other rounding than a Model does:
// embeddings of the same file as Picture and as File differ a little.
func Picture(img image.Image) Image {
	return Image{load: func(_ context.Context, m *Model) (*pixels.RGB, error) { return pixels.FromImage(img, m.decoding) }}
}

// Row is a row of features that another network made, for a model that was trained on
// such rows in place of images. It is not copied.
func Row(features []float32) Image { return Image{row: features} }

// ImageError says which image could not be embedded, and why.
type ImageError struct {
	Index int    // among the images of the call
	Name  string // the path of a File, else empty
	Err   error
}

func (e *ImageError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("images[%d]: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("image %s: %v", nametext.Show(nametext.Encode(e.Name)), e.Err)
}

// Unwrap returns the reason.
func (e *ImageError) Unwrap() error { return e.Err }

var errNoImage = errors.New("it is the zero Image: make one with File, Bytes, Reader, Picture or Row")

// numbers decodes an image and writes what the network takes to dst.
func (m *Model) numbers(ctx context.Context, dst []float32, img Image) error {
	if width := m.model.Width(); width > 0 || img.row != nil {
		switch {
		case img.row == nil:
			return fmt.Errorf("the model takes rows of %d features, not images: give it a Row", width)
		case width == 0:
			return errors.New("it is a Row, and the model takes images")
		case len(img.row) != width:
			return fmt.Errorf("a row of %d features, the model takes %d", len(img.row), width)
		}
		for i, v := range img.row {
			if v-v != 0 { // of NaN and infinities only
				return fmt.Errorf("number %d of the row is %v", i, v)
			}
		}
		copy(dst, img.row)
		return nil
	}
	if img.load == nil {
		return errNoImage
	}
	rgb, err := img.load(ctx, m)
	if err != nil {
		return err
	}
	if m.model.Shorter > 0 { // as in training
		if rgb, err = (transform.Shrink{Size: m.model.Shorter}).Apply(rgb, nil); err != nil {
			return err
		}
	}
	if rgb, err = m.pipeline.Image(rgb, nil); err != nil {
		return err
	}
	m.pipeline.Numbers(dst, rgb)
	return nil
}
