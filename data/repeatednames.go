package data

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/vernier-ml/vernier/internal/nametext"
)

// maxNumberedFolders is up to how many folders with the same numbered classes may be
// parts of one set. Where there are more, as the alphabets of Omniglot with
// character01 and so on, the numbers mean other things in each.
const maxNumberedFolders = 10

// repeatedNames says that several folders hold classes of mostly the same names, as
// parts do whose own names findParts does not know; it is empty if none do. Each class of
// one of them then has images of the same thing in another class.
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
	repeated, stems := 0, map[string]bool{}
	for name, n := range under {
		if n > 1 {
			repeated++
			stems[strings.TrimFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })] = true
		}
	}
	if len(parents) < 2 || len(parents) > maxNumberedFolders && len(stems) == 1 || repeated < 2 || 2*repeated < len(under) {
		return ""
	}
	return fmt.Sprintf("folders %s hold classes of the same names, as %s: each is a class of its own here, and an image of the other one counts as wrong; if they are parts of one set, give one of them, or bring the images of a class into one folder",
		someOf(naturalOrder(slices.Collect(maps.Keys(parents)))), nametext.Show(example))
}
