package data

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Images describe the images of a set that a program makes itself, from wherever it
// has them: a database, an archive of its own, a drawing routine.
type Images struct {
	// Labels names the class of each image. Classes are numbered in natural order
	// of their names.
	Labels []string
	// Paths names each image, for messages, lists and the order of what is equal.
	// Names of a class should not repeat. Nil numbers images from 0.
	Paths []string
	// Image returns image i as pixels, File as the bytes of an image file, in any
	// format that a Decoder reads; one of the two has to be set. Several goroutines call
	// them. An image is the same each time; an error excuses it, as an unreadable file
	// is excused, and that of ctx ends what is running.
	Image func(ctx context.Context, i int) (image.Image, error)
	File  func(ctx context.Context, i int) ([]byte, error)
	// Version is to change whenever what Image or File returns does. It is part of the
	// set's Fingerprint, by which a run that is resumed knows its images.
	Version string
	// Decode says how files, and transparent pixels of images, become pixels.
	Decode pixels.Options
	// Close, if not nil, is called by Set.Close.
	Close func() error
}

// NewSet makes a set of a program's own. Everything that takes a Set works with it; to
// have it in the settings of a run, Register a function that calls NewSet.
func NewSet(name string, of Images) (*Set, error) {
	if err := checkOwn(name, "Images", of.Labels, of.Paths); err != nil {
		return nil, err
	}
	if (of.Image == nil) == (of.File == nil) {
		return nil, fmt.Errorf("data set %s: want one of Images.Image and Images.File, not both or none", name)
	}
	valid := nametext.Valid(name)
	return ownSet(name, "Images", of.Labels, of.Paths, &ownStore{set: valid, of: of, decoder: pixels.NewDecoder(of.Decode)})
}

// checkOwn finds what is wrong with the name and the numbers of labels and paths of a
// program's own set; what is Images or Rows.
func checkOwn(name, what string, labels, paths []string) error {
	items := strings.ToLower(what)
	switch {
	case name == "":
		return errors.New("data set: it has no name")
	case len(labels) == 0:
		return fmt.Errorf("data set %s: %s.Labels is empty: there are no %s", name, what, items)
	case paths != nil && len(paths) != len(labels):
		return fmt.Errorf("data set %s: %s.Paths names %d %s, %s.Labels classes of %d", name, what, len(paths), items, what, len(labels))
	}
	return nil
}

// ownSet makes a program's own set, whose paths are numbers if they are nil.
func ownSet(name, what string, labels, paths []string, of store) (*Set, error) {
	set := &Set{Name: nametext.Valid(name), Items: numbered(len(labels)), store: of}
	for i, p := range paths {
		if set.Items[i].Path = nametext.Valid(p); p == "" {
			return nil, fmt.Errorf("data set %s: %s.Paths[%d] is empty", name, what, i)
		}
	}
	for i, label := range labels {
		if label == "" {
			return nil, fmt.Errorf("data set %s: %s.Labels[%d] is empty", name, what, i)
		}
	}
	set.classify(labels, nil)
	return set, nil
}

// ownStore asks the program for images.
type ownStore struct {
	set     string
	of      Images
	decoder *pixels.Decoder
}

func (s *ownStore) name(it Item) string { return s.set + "!" + it.Path }

func (s *ownStore) close() error {
	if s.of.Close == nil {
		return nil
	}
	return s.of.Close()
}

func (s *ownStore) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	if s.of.File != nil {
		file, err := s.of.File(ctx, it.index)
		if err != nil {
			return nil, err
		}
		return s.decoder.Decode(ctx, file)
	}
	m, err := s.of.Image(ctx, it.index)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("Images.Image returned no image")
	}
	return pixels.FromImage(m, s.of.Decode)
}

// content is the file, or the size and the pixels of an image.
func (s *ownStore) content(it Item) ([]byte, error) {
	ctx := context.Background()
	if s.of.File != nil {
		return s.of.File(ctx, it.index)
	}
	m, err := s.image(ctx, it)
	if err != nil {
		return nil, err
	}
	m = m.Compact()
	b := binary.LittleEndian.AppendUint64(nil, uint64(m.W))
	return append(binary.LittleEndian.AppendUint64(b, uint64(m.H)), m.Pix...), nil
}

// noStore is what a set has that nobody made.
type noStore struct{}

var errNoImages = errors.New("the data set has no images behind its items: data.Open and data.NewSet make a set that has")

func (noStore) name(it Item) string                              { return it.Path }
func (noStore) content(Item) ([]byte, error)                     { return nil, errNoImages }
func (noStore) image(context.Context, Item) (*pixels.RGB, error) { return nil, errNoImages }
func (noStore) close() error                                     { return nil }
