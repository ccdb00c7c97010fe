// Package advice marks errors of the stores in databases that say what to do.
package advice

import (
	"errors"

	"github.com/vernier-ml/vernier/gallery"
)

// explained is an error that says what to do.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// Explained marks an error that says what to do.
func Explained(err error) error { return explained{err} }

// IsExplained reports whether an error says what to do already: it is marked, or one of
// package gallery's that speak for themselves.
func IsExplained(err error) bool {
	return errors.As(err, new(explained)) || errors.Is(err, gallery.ErrOtherModel) || errors.Is(err, gallery.ErrTooFew) || errors.Is(err, gallery.ErrNoGallery)
}

// unavailable is an error that is gallery.ErrUnavailable too.
type unavailable struct{ error }

func (e unavailable) Unwrap() []error { return []error{e.error, gallery.ErrUnavailable} }

// Unavailable makes err gallery.ErrUnavailable too, with the same text.
func Unavailable(err error) error { return unavailable{err} }
