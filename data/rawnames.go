package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

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
