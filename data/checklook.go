package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
)

// look warns of what a person sees in the list of a set and in its images, and says what
// follows from it.
func (r *Report) look(set *Set, found []finding) {
	r.lookAtNames(set)
	r.lookAtLabels(set)
	r.lookAtSizes(set, found)
	r.lookAtColors(set, found)
	r.lookAtBoxes(set, found)
}

// lookAtBoxes finds boxes that reach over the edges of their pictures. One pixel may
// come of rounding.
func (r *Report) lookAtBoxes(set *Set, found []finding) {
	boxes := 0
	for i, f := range found {
		box := set.Items[i].Box
		if box.Empty() {
			continue
		}
		boxes++
		if f.err != nil || f.whole.Empty() || box.In(f.whole.Inset(-1)) {
			continue
		}
		r.Beyond = append(r.Beyond, BadImage{set.Where(i), fmt.Sprintf("%s, the picture has %d x %d pixels", set.Items[i].box(), f.whole.Dx(), f.whole.Dy())})
	}
	if n := len(r.Beyond); n > 0 {
		r.Problems = append(r.Problems, fmt.Sprintf("%d of %s over the edges of pictures, and only what lies inside is used; the first is %s: %s: correct the boxes, which may be of pictures of another size, or have a width and a height in place of x2 and y2",
			n, plural.Of(boxes, "box")+map[bool]string{true: " reaches", false: " reach"}[boxes == 1], r.Beyond[0].Path, r.Beyond[0].Reason))
	}
}

// lookAtNames finds names of files that some systems cannot tell apart.
func (r *Report) lookAtNames(set *Set) {
	if _, files := set.store.(fileStore); !files {
		return // names that are no files' may differ in capital letters only
	}
	if pairs := clashes(set.Classes); len(pairs) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s only in capital letters or in how accents are written: %s; if they are one class, right answers count as wrong, and on Windows and macOS they are one folder",
			differ(len(pairs), "class name"), nametext.Few(pairs)))
		return // so do the paths of their images
	}
	paths := make([]string, len(set.Items))
	for i, it := range set.Items {
		paths[i] = it.Path
	}
	if pairs := clashes(paths); len(pairs) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s only in capital letters or in how accents are written: %s; on Windows and macOS one image replaces the other when the set is copied",
			differ(len(pairs), "image path"), nametext.Few(pairs)))
	}
}

func differ(n int, what string) string {
	verb := "differ"
	if n == 1 {
		verb = "differs"
	}
	return plural.Of(n, what) + " " + verb
}

// clashes lists pairs of different names that foldName makes one.
func clashes(names []string) (pairs []string) {
	first := map[string]string{}
	for _, n := range names {
		key := foldName(n)
		if was, ok := first[key]; !ok {
			first[key] = n
		} else if was != n {
			pairs = append(pairs, fmt.Sprintf("%s and %s", was, n))
		}
	}
	return slices.Compact(pairs)
}

// lookAtLabels knows tables whose labels are numbers from 1 on.
func (r *Report) lookAtLabels(set *Set) {
	if !strings.HasPrefix(set.Name, "csv:") || len(set.Classes) < 2 {
		return
	}
	numbers := map[int]bool{}
	for _, c := range set.Classes {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 || n > len(set.Classes) {
			return
		}
		numbers[n] = true
	}
	if len(numbers) == len(set.Classes) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the labels are the numbers from 1 to %d: a class has no other name in reports, and a list of names that counts from 0 names the wrong ones", len(numbers)))
	}
}

// lookAtSizes compares the shorter sides of the images.
func (r *Report) lookAtSizes(set *Set, found []finding) {
	const factor = 10
	small, large := -1, -1
	side := func(i int) int { return min(found[i].w, found[i].h) }
	for i, f := range found {
		if f.err != nil {
			continue
		}
		if small < 0 || side(i) < side(small) {
			small = i
		}
		if large < 0 || side(i) > side(large) {
			large = i
		}
	}
	if small >= 0 && side(large) >= factor*side(small) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the shorter sides of images are from %s (%s) to %d (%s): small ones are enlarged and blurred, and a metric may learn that instead of what they show",
			plural.Of(side(small), "pixel"), set.Where(small), side(large), set.Where(large)))
	}
}

// lookAtColors finds gray images among colored ones.
func (r *Report) lookAtColors(set *Set, found []finding) {
	gray, colored, first := 0, 0, -1
	grayIn, coloredIn := make([]int, len(set.Classes)), make([]int, len(set.Classes))
	for i, f := range found {
		label := set.Items[i].Label
		switch {
		case f.err != nil:
		case f.gray:
			gray++
			grayIn[label]++
			if first < 0 {
				first = i
			}
		default:
			colored++
			coloredIn[label]++
		}
	}
	if gray == 0 || colored == 0 {
		return
	}
	throughout := 0
	for label := range set.Classes {
		if grayIn[label] > 0 && coloredIn[label] == 0 {
			throughout++
		}
	}
	text := fmt.Sprintf("%d of %s are gray and the others colored, the first is %s: a metric may learn color instead of what they show", gray, plural.Of(gray+colored, "image"), set.Where(first))
	if throughout > 0 {
		text += fmt.Sprintf(", the more where a class is gray throughout (%s)", plural.Of(throughout, "class"))
	}
	r.Warnings = append(r.Warnings, text)
}

// isGray reports whether the three channels of every pixel agree.
func isGray(m *pixels.RGB) bool {
	for y := range m.H {
		row := m.Row(y)
		for x := 0; x+2 < len(row); x += 3 {
			if row[x] != row[x+1] || row[x] != row[x+2] {
				return false
			}
		}
	}
	return true
}
