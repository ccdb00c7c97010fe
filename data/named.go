package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// namedSource is a source whose names are text, as nametext.Encode makes it: outside
// of it no name of a file is anything but UTF-8.
type namedSource struct{ source }

func (s namedSource) list(w *work) (*listing, error) {
	l, err := s.source.list(w)
	if err != nil {
		return nil, err
	}
	out := *l
	for _, names := range []*[]string{&out.files, &out.hidden, &out.dead, &out.linked, &out.repeated} {
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

func (s namedSource) open(name string) (io.ReadCloser, int64, error) {
	return s.source.open(nametext.Decode(name))
}

func (s namedSource) stamp(name string) (string, error) {
	return s.source.stamp(nametext.Decode(name))
}

func (s namedSource) name(file string) string {
	return nametext.Encode(s.source.name(nametext.Decode(file)))
}

// onDisk is the path that a specification means: as it is written or, if nothing is
// there, the one that it is the text of.
func onDisk(path string) string {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if raw := nametext.Decode(path); raw != path {
			if _, err := os.Lstat(raw); err == nil {
				return raw
			}
		}
	}
	return path
}

// noteNames says that names are written with the bytes that they are not text for.
func (s *Set) noteNames() {
	n, first := 0, ""
	for _, it := range s.Items {
		if nametext.IsEncoded(it.Path) {
			if n++; n == 1 {
				first = it.Path
			}
		}
	}
	if n > 0 {
		first = nametext.Show(first)
		s.Notices = append(s.Notices, fmt.Sprintf(`%s not UTF-8: wherever names are written they have \xNN for a byte NN and \\ for a backslash, and are found again by that; the first is %s`,
			plural.Of(n, "path"), first))
	}
}
