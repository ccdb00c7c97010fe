package source

import (
	"io"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// Named is a tree whose names are text, as nametext.Encode makes it: outside
// of it no name of a file is anything but UTF-8.
type Named struct{ Tree }

// List lists the tree.
func (s Named) List(w *progress.Tracker) (*Listing, error) {
	l, err := s.Tree.List(w)
	if err != nil {
		return nil, err
	}
	out := *l
	for _, names := range []*[]string{&out.Files, &out.hidden, &out.dead, &out.linked, &out.repeated} {
		*names = encoded(*names)
	}
	return &out, nil
}

func encoded(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = nametext.Encode(n)
	}
	return out
}

// Open opens the file of a name.
func (s Named) Open(name string) (io.ReadCloser, int64, error) {
	return s.Tree.Open(nametext.Decode(name))
}

// Stamp changes when the file of a name does.
func (s Named) Stamp(name string) (string, error) {
	return s.Tree.Stamp(nametext.Decode(name))
}

// Name says where a file lies.
func (s Named) Name(file string) string {
	return nametext.Encode(s.Tree.Name(nametext.Decode(file)))
}
