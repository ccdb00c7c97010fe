package data

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/internal/plural"
)

// folderParts are the parts that one level of a set's folders names.
type folderParts struct {
	names []string            // of the parts, in natural order
	kind  map[string]partKind // of each
	count map[string]int      // images in each
	// of and class are the part of a folder and the name of its class without the part; a
	// folder of images that lie in a part without a class has the class "".
	of, class map[string]string
	// shared is how many of the classes are in several parts.
	shared, classes int
}

// joinParts finds the parts of a set whose items lie in folders, also parts of parts as
// in split1/train and split2/train, notes them in the set, and returns the class of every
// item that is left.
func joinParts(set *Set, folders []string) []string {
	for {
		parts := findParts(folders)
		if parts == nil {
			return folders
		}
		before := slices.Clone(folders)
		if folders = parts.apply(set, folders); slices.Equal(before, folders) {
			return folders
		}
	}
}

// findParts looks for a level of folders that names parts, as in train/robin and
// val/robin, and returns nil if there is none. folders holds the folder of every image.
func findParts(folders []string) *folderParts {
	count := map[string]int{}
	for _, f := range folders {
		count[f]++
	}
	distinct := natural.Sorted(slices.Collect(maps.Keys(count)))
	deepest := 0
	for _, f := range distinct {
		deepest = max(deepest, strings.Count(f, "/"))
	}
	for level := range deepest + 1 {
		if p := partsAt(distinct, count, level); p != nil {
			return p
		}
	}
	return nil
}

// partsAt returns the parts that a level of folders names. At the top there may be
// folders beside them, but none with classes of their names: then train is a class with
// folders, as the others are.
func partsAt(folders []string, count map[string]int, level int) *folderParts {
	p := &folderParts{kind: map[string]partKind{}, count: map[string]int{}, of: map[string]string{}, class: map[string]string{}}
	var beside []string
	flat := false
	for _, f := range folders {
		steps := strings.Split(f, "/")
		if level >= len(steps) || partKindOf(steps[level]) == noPart {
			if level > 0 {
				return nil
			}
			beside = append(beside, f)
			continue
		}
		part := steps[level]
		below := steps[level+1:]
		for len(below) > 1 && strings.EqualFold(below[0], part) { // training_set/training_set/cats
			below = below[1:]
		}
		p.of[f], p.class[f] = part, strings.Join(slices.Concat(steps[:level], below), "/")
		p.kind[part] = partKindOf(part)
		p.count[part] += count[f]
		flat = flat || p.class[f] == ""
	}
	if len(p.kind) < 2 {
		return nil
	}
	flat = p.dropUnlabeled() || flat
	p.names = natural.Sorted(slices.Collect(maps.Keys(p.kind)))
	slices.SortStableFunc(p.names, func(a, b string) int { return cmp.Compare(p.kind[a], p.kind[b]) })
	p.join()
	classes := map[string]bool{}
	for _, class := range p.class {
		classes[class] = true
	}
	for _, f := range beside {
		if _, below, _ := strings.Cut(f, "/"); classes[below] {
			return nil
		}
	}
	switch {
	case p.shared > 0:
		return p
	case level > 0 || len(beside) > 0:
		return nil
	case flat && p.classes < 2: // classes called train and test
		return nil
	}
	return p
}

// dropUnlabeled takes the folders of a part without labels for no classes, unless another
// part has a class of that name: what such a folder holds is not one class.
func (p *folderParts) dropUnlabeled() (dropped bool) {
	known := map[string]bool{}
	for f, class := range p.class {
		if p.kind[p.of[f]] != withoutLabels {
			known[foldName(class)] = true
		}
	}
	for f, class := range p.class {
		if p.kind[p.of[f]] == withoutLabels && !known[foldName(class)] {
			p.class[f], dropped = "", true
		}
	}
	return dropped
}

// join gives classes of several parts one name, though their capital letters or their
// way of writing accents may differ, and counts them.
func (p *folderParts) join() {
	key := foldName
	seen := map[[2]string]string{}
	for f, class := range p.class {
		at := [2]string{p.of[f], foldName(class)}
		if was, ok := seen[at]; ok && was != class { // a part tells them apart
			key = func(s string) string { return s }
		}
		seen[at] = class
	}
	name, parts := map[string]string{}, map[string]map[string]bool{}
	for _, f := range natural.Sorted(slices.Collect(maps.Keys(p.class))) {
		class := p.class[f]
		if class == "" {
			continue
		}
		k := key(class)
		if name[k] == "" {
			name[k], parts[k] = class, map[string]bool{}
		}
		p.class[f] = name[k]
		parts[k][p.of[f]] = true
	}
	p.classes = len(name)
	for _, in := range parts {
		if len(in) > 1 {
			p.shared++
		}
	}
}

// foldName is a name without differences in capital letters and in how accents are written.
func foldName(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(s))) }

// sides says which parts are for training, which for validation and which for testing.
func (p *folderParts) sides() map[string]Part {
	trained := false
	for _, k := range p.kind {
		trained = trained || k == forTraining
	}
	sides := map[string]Part{}
	for name, k := range p.kind {
		sides[name] = TestPart
		switch {
		case k == forTraining, k == forAny, k == withoutLabels && trained:
			sides[name] = TrainPart
		case k == forValidation:
			sides[name] = p.validationSide()
		}
	}
	return sides
}

// validationSide says what a validation part is for. It chooses the best epoch where there
// are other classes to train and to test on, and each side has two. It is tested on where
// there is nothing else for that or where its classes are those of the test.
func (p *folderParts) validationSide() Part {
	training, testing := map[string]bool{}, map[string]bool{}
	for f, class := range p.class {
		switch p.kind[p.of[f]] {
		case forTraining, forAny:
			training[class] = true
		case forTesting, forQueries, forGallery:
			testing[class] = true
		}
	}
	own, trained, tested := map[string]bool{}, false, false
	for f, class := range p.class {
		if p.kind[p.of[f]] == forValidation {
			own[class] = true
			trained, tested = trained || training[class], tested || testing[class]
		}
	}
	switch {
	case len(training) == 0 || len(testing) == 0, tested && !trained:
		return TestPart
	case trained || len(training) < 2 || len(own) < 2:
		return TrainPart
	}
	return ValidationPart
}

// apply notes the parts in the items of a set, whose folders are given, leaves out the
// images that are in a part and in no class, says what was done, and returns the class
// of every item that is left.
func (p *folderParts) apply(set *Set, folders []string) []string {
	folders = p.leaveFlat(set, folders)
	if len(p.names) == 1 {
		for i, f := range folders {
			folders[i] = p.class[f]
		}
		return folders
	}
	sides := p.sides()
	train, test, both := 0, 0, 0
	side := map[string]Part{}
	for f, class := range p.class {
		s := sides[p.of[f]]
		if s == ValidationPart {
			s = TrainPart
		}
		if s == TrainPart {
			train++
		} else {
			test++
		}
		if was := side[class]; was != NoPart && was != s {
			both++
		}
		side[class] = s
	}
	divided := train > 0 && test > 0
	if p.shared == 0 && !divided {
		set.Notices = append(set.Notices, fmt.Sprintf("%s look like parts of the set, but hold different classes, and none is for %s: they are taken for folders above classes",
			p.list(p.names), map[bool]string{true: "testing", false: "training"}[train > 0]))
		return folders
	}
	for i, f := range folders {
		part, ok := p.of[f]
		if !ok {
			continue
		}
		folders[i] = p.class[f]
		if divided {
			set.Items[i].Part = sides[part]
		}
		switch p.kind[part] {
		case forQueries:
			set.Items[i].Role = QueryRole
		case forGallery:
			set.Items[i].Role = GalleryRole
		}
	}
	set.SharedClasses = set.SharedClasses || divided && both > 0
	p.report(set, sides, divided && both == 0)
	return folders
}

// report says what the parts are taken for.
func (p *folderParts) report(set *Set, sides map[string]Part, split bool) {
	if split {
		var uses []string
		for _, use := range []struct {
			side Part
			what string
		}{{TrainPart, "training"}, {ValidationPart, "choosing the best epoch"}, {TestPart, "testing"}} {
			of := slices.DeleteFunc(slices.Clone(p.names), func(n string) bool { return sides[n] != use.side })
			if len(of) > 0 {
				uses = append(uses, p.list(of)+" for "+use.what)
			}
		}
		set.Notices = append(set.Notices, "the folders of the set are its parts and hold different classes: "+strings.Join(uses, ", "))
		return
	}
	how := "hold the same classes"
	if p.shared < p.classes || !p.whole() {
		how = fmt.Sprintf("hold %d of %d classes together", p.shared, p.classes)
	}
	text := fmt.Sprintf("parts %s %s: joined, one class each", p.list(p.names), how)
	if p.searched() {
		set.Notices = append(set.Notices, text)
		return
	}
	set.Problems = append(set.Problems, text+"; a metric is tested on classes that training has not seen, so the split is by class and not by these parts (to use one part alone, give its folder)")
}

// whole says that every class is in every part.
func (p *folderParts) whole() bool {
	in := map[string]map[string]bool{}
	for f, class := range p.class {
		if in[class] == nil {
			in[class] = map[string]bool{}
		}
		in[class][p.of[f]] = true
	}
	for _, parts := range in {
		if len(parts) < len(p.names) {
			return false
		}
	}
	return true
}

// searched says that the parts are queries and a gallery, which share classes by intent.
func (p *folderParts) searched() bool {
	for _, k := range p.kind {
		if k != forQueries && k != forGallery {
			return false
		}
	}
	return true
}

// list writes parts with their sizes: "train (8 images), val (4 images)".
func (p *folderParts) list(names []string) string {
	var words []string
	for _, n := range names {
		words = append(words, fmt.Sprintf("%s (%s)", n, plural.Of(p.count[n], "image")))
	}
	return strings.Join(words, ", ")
}

// leaveFlat leaves out the images that lie in a part and in no class: those of a test
// whose answers were not published.
func (p *folderParts) leaveFlat(set *Set, folders []string) []string {
	left := map[string]int{}
	kept, items := folders[:0], set.Items[:0]
	for i, f := range folders {
		if part, ok := p.of[f]; ok && p.class[f] == "" {
			left[part]++
			continue
		}
		kept, items = append(kept, f), append(items, set.Items[i])
	}
	set.Items = items
	for _, part := range natural.Sorted(slices.Collect(maps.Keys(left))) {
		if p.kind[part] == withoutLabels {
			set.Notices = append(set.Notices, fmt.Sprintf("%s of part %s left out, whose classes are not known", plural.Of(left[part], "image"), part))
		} else {
			set.Problems = append(set.Problems, fmt.Sprintf("%s of part %s left out, in no class's folder", plural.Of(left[part], "image"), part))
		}
		p.count[part] -= left[part]
	}
	for f, class := range p.class {
		if class == "" {
			delete(p.class, f)
			delete(p.of, f)
		}
	}
	for part, n := range left {
		if n > 0 && p.count[part] == 0 {
			delete(p.kind, part)
		}
	}
	p.names = slices.DeleteFunc(p.names, func(n string) bool { return p.kind[n] == noPart })
	return kept
}
