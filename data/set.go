package data

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Part is the place of an item in the split that a set was published with.
type Part uint8

const (
	NoPart Part = iota // the set has no published split
	TrainPart
	TestPart
	// ValidationPart are training classes that choose the best epoch, see Validation.
	ValidationPart
)

func (p Part) String() string {
	return [...]string{"", "train", "test", "validation"}[p]
}

// Role says on which side of a search a test item stands.
type Role uint8

const (
	AnyRole Role = iota // both
	QueryRole
	GalleryRole
)

func (r Role) String() string {
	return [...]string{"", "query", "gallery"}[r]
}

// Item is one image of a set.
type Item struct {
	// Path names the image inside the set, with forward slashes.
	Path string
	// Label is the index of the class in Set.Classes.
	Label int
	Part  Part
	Role  Role
	// Group, from 1, is the camera or another source of the image: a search leaves out
	// images of the query's class and group. 0 is none.
	Group int
	// Box, if not empty, is the part of the image that counts, in pixels.
	Box image.Rectangle
	// index is the place in a store that holds images by number; origin is that
	// in the store that such a one was made from.
	index, origin int
	view          uint16 // of an item of Views
	line          int    // of the table that names the item, 0 if there is none
}

// store holds the images of a set.
type store interface {
	// name says where an item lies, for messages.
	name(Item) string
	// content is what identifies an item's image: the bytes of its file.
	content(Item) ([]byte, error)
	// image decodes an item.
	image(context.Context, Item) (*pixels.RGB, error)
	close() error
}

// Set is a list of labeled images. Open, OpenImages and NewSet make one. It is not
// changed after it was made and may be used by several goroutines. The zero value has
// no images, and loading one of its items is an error.
type Set struct {
	// Name is the specification it was opened with, and the part if it is one.
	Name  string
	Items []Item
	// Classes maps labels 0..C-1 to names. Every class has an item.
	Classes []string
	// Super maps labels to super-classes, by index of SuperNames; nil if the
	// set has none.
	Super      []int
	SuperNames []string
	// Notices are remarks for the user: what was left out and why. Problems say what makes
	// figures wrong, or that images may be missing.
	Notices, Problems []string
	// Published holds the counts that the set is known by; nil if there are none.
	Published *Published
	// SharedClasses says that the published split divides the images of every
	// class, and not the classes.
	SharedClasses bool
	// Unlabeled says that the images came without classes: all are of one that is named
	// Unlabeled. OneEach says that each image is a class of its own, see Set.Instances.
	Unlabeled, OneEach bool

	store store
}

// images is where the images are.
func (s *Set) images() store {
	if s == nil || s.store == nil {
		return noStore{}
	}
	return s.store
}

// check says what is wrong with a set that was put together by hand.
func (s *Set) check() error {
	if s == nil {
		return errors.New("the data set is nil: data.Open and data.NewSet make one")
	}
	for i, it := range s.Items {
		if it.Label < 0 || it.Label >= len(s.Classes) {
			return fmt.Errorf("%s: item %d has label %d; labels run from 0 to less than %d, the length of Set.Classes", s.title(), i, it.Label, len(s.Classes))
		}
	}
	if s.Super != nil && len(s.Super) != len(s.Classes) {
		return fmt.Errorf("%s: super-classes of %d classes; there are %d", s.title(), len(s.Super), len(s.Classes))
	}
	return nil
}

// title is the set's name for messages.
func (s *Set) title() string {
	if s == nil || s.Name == "" {
		return "the data set"
	}
	return s.Name
}

// ImageError says which image could not be had.
type ImageError struct {
	Path string // where it lies
	Err  error
}

func (e *ImageError) Error() string { return "image " + nametext.Show(e.Path) + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ImageError) Unwrap() error { return e.Err }

// Load decodes item i. Its error is an *ImageError, or that of the context.
func (s *Set) Load(ctx context.Context, i int) (*pixels.RGB, error) {
	if s == nil {
		return nil, s.check()
	}
	if i < 0 || i >= len(s.Items) {
		return nil, &ImageError{s.title(), fmt.Errorf("item %d, the set has %d", i, len(s.Items))}
	}
	m, _, err := s.load(ctx, i)
	return m, err
}

// load is Load, and returns the bounds of the picture that the item's box is a part of.
// They are empty where the item has no box or the store has only what is in it.
func (s *Set) load(ctx context.Context, i int) (m *pixels.RGB, whole image.Rectangle, err error) {
	it := s.Items[i]
	if m, err = s.images().image(ctx, it); err != nil {
		return nil, whole, s.fault(ctx, it, err)
	}
	if _, done := s.store.(interface{ cropped() }); done || it.Box.Empty() {
		return m, whole, nil
	}
	whole = m.Bounds()
	if m, err = it.crop(m); err != nil {
		return nil, whole, &ImageError{s.images().name(it), err}
	}
	return m, whole, nil
}

// loadPart decodes what choose says of item i, whose size is given: as if
// all of it had been loaded and cropped, but faster where the store can.
func (s *Set) loadPart(ctx context.Context, i int, choose func(w, h int) image.Rectangle) (*pixels.RGB, error) {
	it := s.Items[i]
	store, ok := s.store.(interface {
		part(context.Context, Item, func(w, h int) image.Rectangle) (*pixels.RGB, error)
	})
	if ok && it.Box.Empty() {
		m, err := store.part(ctx, it, choose)
		if err != nil {
			return nil, s.fault(ctx, it, err)
		}
		return m, nil
	}
	m, err := s.Load(ctx, i)
	if err != nil {
		return nil, err
	}
	a := choose(m.W, m.H)
	return m.Crop(a.Min.X, a.Min.Y, a.Dx(), a.Dy()), nil
}

// fault is the error of an image that could not be had, unless the context has
// ended: that is no image's fault.
func (s *Set) fault(ctx context.Context, it Item, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &ImageError{s.images().name(it), err}
}

// crop returns the part of an image that counts.
func (it Item) crop(m *pixels.RGB) (*pixels.RGB, error) {
	if it.Box.Empty() {
		return m, nil
	}
	box := it.Box.Intersect(m.Bounds())
	if box.Empty() {
		return nil, fmt.Errorf("%s lies outside the %d x %d pixels", it.box(), m.W, m.H)
	}
	return m.Crop(box.Min.X, box.Min.Y, box.Dx(), box.Dy()), nil
}

// box writes the item's box as a table has it, and where that was.
func (it Item) box() string {
	text := fmt.Sprintf("box x1 %d, y1 %d, x2 %d, y2 %d", it.Box.Min.X, it.Box.Min.Y, it.Box.Max.X, it.Box.Max.Y)
	if it.line > 0 {
		text += fmt.Sprintf(" (line %d of the table)", it.line)
	}
	return text
}

// Where says where item i lies, for messages: a file, or an archive and the
// file in it.
func (s *Set) Where(i int) string {
	if i < 0 || i >= len(s.Items) {
		return fmt.Sprintf("item %d of %s, which has %d", i, s.title(), len(s.Items))
	}
	return s.images().name(s.Items[i])
}

// Close releases what Open opened. Parts of a set share it and need no Close.
func (s *Set) Close() error { return s.images().close() }

// Remarks lists what a user has to know of the set, Problems first.
func (s *Set) Remarks() []string { return slices.Concat(s.Problems, s.Notices) }

// Labels returns the label of every item.
func (s *Set) Labels() []int {
	labels := make([]int, len(s.Items))
	for i, it := range s.Items {
		labels[i] = it.Label
	}
	return labels
}

// ByClass lists the items of every class, ascending.
func (s *Set) ByClass() [][]int {
	lists := make([][]int, len(s.Classes))
	for i, it := range s.Items {
		lists[it.Label] = append(lists[it.Label], i)
	}
	return lists
}

// Select returns the set of the given items in the given order. Classes that
// keep an item keep their order and are numbered from 0 again.
func (s *Set) Select(name string, items []int) *Set {
	part := &Set{Name: name, Items: make([]Item, len(items)), SuperNames: s.SuperNames, SharedClasses: s.SharedClasses, Unlabeled: s.Unlabeled, OneEach: s.OneEach, store: s.store}
	kept := make([]int, len(s.Classes))
	for _, i := range items {
		kept[s.Items[i].Label] = 1
	}
	for label, keep := range kept {
		kept[label] = len(part.Classes)
		if keep == 0 {
			continue
		}
		part.Classes = append(part.Classes, s.Classes[label])
		if s.Super != nil {
			part.Super = append(part.Super, s.Super[label])
		}
	}
	for k, i := range items {
		part.Items[k] = s.Items[i]
		part.Items[k].Label = kept[s.Items[i].Label]
	}
	return part
}

// Hash identifies the set by its content: SHA-256, in hexadecimal, over class,
// path, box and bytes of every item in order. It reads every file.
func (s *Set) Hash() (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	h := sha256.New()
	field := func(b []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, it := range s.Items {
		content, err := s.images().content(it)
		if err != nil {
			return "", &ImageError{s.images().name(it), err}
		}
		field([]byte(s.Classes[it.Label]))
		field([]byte(it.Path))
		if !it.Box.Empty() {
			field([]byte(it.Box.String()))
		}
		field(content)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
