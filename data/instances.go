package data

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/data/pixels"
)

// unlabeled makes s the set of the given images, without classes.
func (s *Set) unlabeled(paths []string) {
	s.Unlabeled, s.Classes = true, []string{Unlabeled}
	s.Items = make([]Item, len(paths))
	for i, p := range paths {
		s.Items[i].Path = p
	}
}

// Instances returns the set with each image as a class of its own, named by the image's
// place in the set: what is trained on without labels. Balanced batches of P such classes
// and K images have K views of each of P images, of which view number k is drawn by
// (seed, epoch, item, k).
func (s *Set) Instances() *Set {
	out := *s
	out.OneEach, out.Super, out.SuperNames, out.Published, out.SharedClasses = true, nil, nil, nil, false
	out.Items, out.Classes = make([]Item, len(s.Items)), make([]string, len(s.Items))
	for i, it := range s.Items {
		out.Classes[i] = it.Path
		it.Label = i
		out.Items[i] = it
	}
	return &out
}

// HoldOut takes a share of the images away to measure on, where there are no classes of which
// some could be taken. They are drawn by seed, at least two of them and at most all but two.
// kept, if not nil, says of an item that it is not to be taken.
func HoldOut(set *Set, share float64, seed uint64, kept func(item int) bool) (rest, held *Set, err error) {
	const least = 2 // a single one is its own neighbor
	n := len(set.Items)
	if n < 2*least {
		return nil, nil, fmt.Errorf("%s: %d images; at least %d are needed, to train on some and to measure on others", set.title(), n, 2*least)
	}
	if !(share > 0 && share < 1) {
		return nil, nil, fmt.Errorf("%s: a share of %v of the images to measure on, want more than 0 and less than 1", set.title(), share)
	}
	order := newRand(seed, mixString("hold out")).Perm(n)
	if kept != nil {
		order = slices.DeleteFunc(order, kept)
	}
	if len(order) < least {
		return nil, nil, fmt.Errorf("%s: %d images may be held out to measure on, at least %d are needed", set.title(), len(order), least)
	}
	drawn := make([]bool, n)
	for _, i := range order[:min(max(int(math.Round(share*float64(n))), least), n-least, len(order))] {
		drawn[i] = true
	}
	var a, b []int
	for i, d := range drawn {
		if d {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	return set.Select(set.Name+" (train)", a), set.Select(set.Name+" (test)", b), nil
}

// Views returns n views of each image of a set, which stand beside each other, with the
// image's label: pictures that vary makes of the image, whose draws follow from seed, the
// image's path and the number of the view, from 0.
func Views(set *Set, n int, seed uint64, vary func(m *pixels.RGB, view int, r *rand.Rand) (*pixels.RGB, error)) *Set {
	out := *set
	out.store = viewStore{set.images(), seed, vary}
	out.Items = make([]Item, 0, n*len(set.Items))
	for _, it := range set.Items {
		for v := range n {
			it.view = uint16(v)
			out.Items = append(out.Items, it)
		}
	}
	return &out
}

// viewStore holds views of the images of another store.
type viewStore struct {
	store
	seed uint64
	vary func(*pixels.RGB, int, *rand.Rand) (*pixels.RGB, error)
}

// cropped marks a store whose images are made of their items' boxes already.
func (s viewStore) cropped() {}

func (s viewStore) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	m, err := s.store.image(ctx, it)
	if _, done := s.store.(interface{ cropped() }); err == nil && !done {
		m, err = it.crop(m)
	}
	if err != nil {
		return nil, err
	}
	return s.vary(m, int(it.view), newRand(s.seed, mixString("view"), mixString(it.Path), mixString(it.Box.String()), uint64(it.view)))
}
