package data

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// rowStore holds rows of numbers in place of images.
type rowStore interface {
	store
	width() int
	// row writes the numbers of an item, width of them. It may be called concurrently.
	row(dst []float32, it Item) error
	// version changes when the rows do, as far as that can be told cheaply.
	version() string
}

// Width is the length of the rows of numbers that the set holds in place of images; 0
// for a set of images.
func (s *Set) Width() int {
	if s == nil {
		return 0
	}
	if rows, ok := s.store.(rowStore); ok {
		return rows.width()
	}
	return 0
}

// Rows describe rows of numbers, features that another network made, of a set that a
// program makes itself.
type Rows struct {
	// Width is the length of a row.
	Width int
	// Labels names the class of each row, Paths each row; nil Paths number them from 0.
	Labels, Paths []string
	// Row writes row i, Width numbers, to dst. Several goroutines call it.
	Row func(dst []float32, i int) error
	// Version is to change whenever what Row returns does: see Images.Version.
	Version string
	// Close, if not nil, is called by Set.Close.
	Close func() error
}

// NewRows makes a set of rows of numbers. Models of the backbone "features" are trained
// and measured on it.
func NewRows(name string, of Rows) (*Set, error) {
	if err := checkOwn(name, "Rows", of.Labels, of.Paths); err != nil {
		return nil, err
	}
	switch {
	case of.Width < 1:
		return nil, fmt.Errorf("data set %s: Rows.Width is %d, want the length of a row", name, of.Width)
	case of.Row == nil:
		return nil, fmt.Errorf("data set %s: Rows.Row is nil", name)
	}
	name = nametext.Valid(name)
	return ownSet(name, "Rows", of.Labels, of.Paths, &ownRows{name, of})
}

// numbered returns n items whose paths are their numbers, all of one length. The paths
// share one text: a string of its own for each of many rows would take more.
func numbered(n int) []Item {
	digits := len(strconv.Itoa(n - 1))
	text := make([]byte, 0, n*digits)
	for i := range n {
		text = fmt.Appendf(text, "%0*d", digits, i)
	}
	all := string(text)
	items := make([]Item, n)
	for i := range items {
		items[i].Path, items[i].index = all[i*digits:(i+1)*digits], i
	}
	return items
}

// ownRows asks the program for rows.
type ownRows struct {
	set string
	of  Rows
}

func (s *ownRows) name(it Item) string              { return s.set + "!" + it.Path }
func (s *ownRows) width() int                       { return s.of.Width }
func (s *ownRows) row(dst []float32, it Item) error { return s.of.Row(dst, it.index) }
func (s *ownRows) version() string                  { return s.of.Version }
func (s *ownRows) content(it Item) ([]byte, error)  { return rowContent(s, it) }

func (s *ownRows) image(context.Context, Item) (*pixels.RGB, error) { return nil, errIsRow }

func (s *ownRows) close() error {
	if s.of.Close == nil {
		return nil
	}
	return s.of.Close()
}

// errIsRow says why an item has no picture.
var errIsRow = errors.New("it is a row of numbers, not an image")

// rowContent is a row as text, for Hash.
func rowContent(s rowStore, it Item) ([]byte, error) {
	x := make([]float32, s.width())
	if err := s.row(x, it); err != nil {
		return nil, err
	}
	return fmt.Append(nil, x), nil
}
