package data

import (
	"context"
	"crypto/sha256"
	"strings"
)

// Shared counts what s has in common with others: the classes of the same name, and
// the images that lie at the same place or, where their files are of one size, have
// the same content. A box is part of an image.
func (s *Set) Shared(ctx context.Context, others ...*Set) (classes, images int, err error) {
	names, places, sizes := map[string]bool{}, map[string]bool{}, map[string][]sharedImage{}
	for _, o := range others {
		for _, c := range o.Classes {
			names[c] = true
		}
		for i := range o.Items {
			places[o.placeOf(i)] = true
			size := o.sizeOf(i)
			sizes[size] = append(sizes[size], sharedImage{o, i})
		}
	}
	for _, c := range s.Classes {
		if names[c] {
			classes++
		}
	}
	sums := map[sharedImage][sha256.Size]byte{}
	for i := range s.Items {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if places[s.placeOf(i)] || (sharedImage{s, i}).among(sizes[s.sizeOf(i)], sums) {
			images++
		}
	}
	return classes, images, nil
}

// sharedImage is an image of a set.
type sharedImage struct {
	set *Set
	at  int
}

// among reports whether one of the images has the same content. What cannot be read
// is like no other.
func (m sharedImage) among(list []sharedImage, sums map[sharedImage][sha256.Size]byte) bool {
	if len(list) == 0 {
		return false
	}
	mine, ok := m.sum(sums)
	for _, other := range list {
		if theirs, known := other.sum(sums); ok && known && theirs == mine && other.box() == m.box() {
			return true
		}
	}
	return false
}

func (m sharedImage) box() string { return m.set.Items[m.at].Box.String() }

func (m sharedImage) sum(sums map[sharedImage][sha256.Size]byte) (sum [sha256.Size]byte, ok bool) {
	if sum, ok = sums[m]; ok {
		return sum, sum != [sha256.Size]byte{}
	}
	if b, err := m.set.images().content(m.set.Items[m.at]); err == nil {
		sum, ok = sha256.Sum256(b), true
	}
	sums[m] = sum
	return sum, ok
}

func (s *Set) placeOf(i int) string { return s.Where(i) + " " + s.Items[i].Box.String() }

// sizeOf is the size of an image's file, "" where it is not known without reading.
func (s *Set) sizeOf(i int) string {
	store, it := s.store, s.Items[i]
	for wrapped := true; wrapped; {
		switch w := store.(type) {
		case *prepared:
			store, it = w.store, w.origin(it)
		case shrunk:
			store = w.store
		default:
			wrapped = false
		}
	}
	sized, ok := store.(interface{ stamp(Item) (string, error) })
	if !ok {
		return ""
	}
	stamp, err := sized.stamp(it)
	if err != nil {
		return "missing"
	}
	size, _, _ := strings.Cut(stamp, " ") // what follows is a time or a checksum
	return size
}
