package data

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/vernier-ml/vernier/data/internal/natural"
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
		nametext.Few(natural.Sorted(slices.Collect(maps.Keys(parents)))), nametext.Show(example))
}

// partsInNames says that names of classes differ only in the name of a part, as in
// robin_train and robin_test; it is empty if most do not.
func partsInNames(classes []string) string {
	first, repeated, example := map[string]string{}, map[string]bool{}, ""
	kinds := map[string]partKind{}
	for _, c := range classes {
		kind, rest := noPart, []string(nil)
		for _, w := range strings.FieldsFunc(plainLetters(c), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if k := partWords[w]; k != noPart && kind == noPart {
				kind = k
			} else {
				rest = append(rest, w)
			}
		}
		key := strings.Join(rest, " ")
		was, ok := first[key]
		switch {
		case !ok:
			first[key], kinds[key] = c, kind
		case kind != kinds[key] && len(rest) > 0:
			repeated[key] = true
			if example == "" {
				example = nametext.Show(was) + " and " + nametext.Show(c)
			}
		}
	}
	if len(repeated) < 2 || 2*len(repeated) < len(first) {
		return ""
	}
	return fmt.Sprintf("names of classes differ only in the name of a part, as %s: each is a class of its own here, and an image of the other one counts as wrong; bring the images of a class into one folder", example)
}
