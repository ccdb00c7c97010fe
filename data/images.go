package data

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Unlabeled is the name of the only class of OpenImages.
const Unlabeled = "unlabeled"

// OpenImages makes a set without labels of image files, folders and archives;
// of the latter two all images at any depth. All items are of one class.
func OpenImages(ctx context.Context, paths []string, o Options) (*Set, error) {
	store := new(manyStore)
	set := &Set{Name: "images", Classes: []string{Unlabeled}, store: store}
	err := store.add(progress.New(ctx, o.Progress), set, paths, o)
	if err == nil && len(set.Items) == 0 {
		err = errors.New(strings.Join(set.Problems, "; "))
	}
	if err != nil {
		store.close()
		return nil, err
	}
	return set, nil
}

// manyStore holds images of several sources. An item's index tells its place.
type manyStore struct {
	sources []fileStore
	places  []place
}

type place struct {
	source int
	path   string
}

// add opens every path. A file that is no archive is taken for an image,
// whatever its name.
func (s *manyStore) add(w *progress.Tracker, set *Set, paths []string, o Options) error {
	decoder := pixels.NewDecoder(o.Decode)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if !info.IsDir() && (!info.Mode().IsRegular() || !source.IsArchive(p)) {
			s.sources = append(s.sources, fileStore{source.Named{Tree: source.Folder{}}, decoder})
			s.put(set, nametext.Encode(p))
			continue
		}
		src, err := source.Open(w, p)
		if err != nil {
			return err
		}
		s.sources = append(s.sources, fileStore{src, decoder})
		found, err := source.ReadEntries(w, src)
		if err != nil {
			return err
		}
		for _, name := range found.Images {
			s.put(set, name)
		}
		for _, text := range found.Notices {
			set.Notices = append(set.Notices, p+": "+text)
		}
		for _, text := range found.Problems {
			set.Problems = append(set.Problems, p+": "+text)
		}
		if len(found.Images) == 0 {
			set.Problems = append(set.Problems, p+": "+found.NoImages())
		}
	}
	return nil
}

// put adds an image of the last Tree.
func (s *manyStore) put(set *Set, name string) {
	at := place{len(s.sources) - 1, name}
	set.Items = append(set.Items, Item{Path: s.sources[at.source].files.Name(name), index: len(s.places)})
	s.places = append(s.places, at)
}

func (s *manyStore) at(it Item) (fileStore, Item) {
	p := s.places[it.index]
	return s.sources[p.source], Item{Path: p.path}
}

func (s *manyStore) name(it Item) string { return it.Path }

func (s *manyStore) content(it Item) ([]byte, error) {
	store, inner := s.at(it)
	return store.content(inner)
}

func (s *manyStore) image(ctx context.Context, it Item) (*pixels.RGB, error) {
	store, inner := s.at(it)
	return store.image(ctx, inner)
}

func (s *manyStore) close() error {
	var first error
	for _, store := range s.sources {
		if err := store.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
