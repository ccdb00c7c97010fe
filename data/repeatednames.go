package data

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// maxAlikeFolders is up to how many folders with classes of the same names may be
// parts of one set. Where there are more, as the alphabets of Omniglot, such names
// are numbers.
const maxAlikeFolders = 10

// repeatedNames says that several folders hold classes of mostly the same names, as
// parts do whose own names findParts does not know; it is empty if none do.
func repeatedNames(classes []string) string {
	parents := map[string]bool{}
	under := map[string]int{} // how many parents have a class of that name
	example := ""
	for _, c := range classes {
		if !strings.Contains(c, "/") {
			continue
		}
		parents[path.Dir(c)] = true
		name := foldName(path.Base(c))
		under[name]++
		if under[name] == 2 && example == "" {
			example = path.Base(c)
		}
	}
	repeated := 0
	for _, n := range under {
		if n > 1 {
			repeated++
		}
	}
	if len(parents) < 2 || len(parents) > maxAlikeFolders || repeated < 2 || 2*repeated < len(under) {
		return ""
	}
	names := slices.Sorted(maps.Keys(parents))
	for i, n := range names {
		names[i] = nametext.Show(n)
	}
	return fmt.Sprintf("folders %s hold classes of the same names, as %s: each is a class of its own here, and an image of the other one counts as wrong; if they are parts of one set, give one of them, or bring the images of a class into one folder",
		strings.Join(names, ", "), nametext.Show(example))
}
