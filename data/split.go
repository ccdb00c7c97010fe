package data

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/table"
)

// SplitKind is a way to choose the training classes.
type SplitKind uint8

const (
	// FirstClasses takes the first classes by name (in the order of labels).
	FirstClasses SplitKind = iota
	// RandomClasses draws them, by Seed.
	RandomClasses
	// ListedClasses takes those named in a file, one a line.
	ListedClasses
	// PublishedSplit is the one that the set comes with.
	PublishedSplit
	// AutoSplit is PublishedSplit where the set has one that divides its classes,
	// else the first half by name.
	AutoSplit
)

// SplitSpec says which classes are for training; all others are for testing.
type SplitSpec struct {
	Kind     SplitKind
	Fraction float64 // of the classes, rounded to the nearest; or
	Count    int     // number of classes, if not 0
	Seed     uint64
	File     string
}

// FirstHalf is the default: the first half of the classes by name.
func FirstHalf() SplitSpec { return SplitSpec{Fraction: 0.5} }

// String says which classes are for training, for reports.
func (s SplitSpec) String() string {
	amount := plural.Of(s.Count, "class")
	if s.Count == 0 {
		amount = fmt.Sprintf("%g of the classes", s.Fraction)
	}
	switch s.Kind {
	case RandomClasses:
		return fmt.Sprintf("%s drawn with seed %d", amount, s.Seed)
	case ListedClasses:
		return "the classes listed in " + s.File
	case PublishedSplit:
		return "published"
	case AutoSplit:
		return "published or first half"
	}
	return "the first " + amount + " by name"
}

// resolve replaces AutoSplit by what it means for a set.
func (s SplitSpec) resolve(set *Set) SplitSpec {
	if s.Kind != AutoSplit {
		return s
	}
	if len(set.Items) > 0 && set.Items[0].Part != NoPart && !set.SharedClasses {
		return SplitSpec{Kind: PublishedSplit}
	}
	return FirstHalf()
}

// ParseSplit reads what --train-classes says:
//
//	auto         the published split if the set has one by class, else half
//	half         the first half of the classes by name
//	0.5          the first 50% of the classes by name, also first:0.5
//	100          the first 100 classes by name, also first:100
//	random:0.5   50% of the classes drawn with the given seed, also random:100
//	published    the split that the set comes with
//	FILE         the classes listed in FILE, one a line
func ParseSplit(text string, seed uint64) (SplitSpec, error) {
	spec := SplitSpec{Seed: seed}
	amount := text
	switch {
	case text == "":
		return spec, fmt.Errorf("training classes: nothing given; %s", splitUsage)
	case text == "auto":
		spec.Kind = AutoSplit
		return spec, nil
	case text == "half":
		return FirstHalf(), nil
	case text == "published":
		spec.Kind = PublishedSplit
		return spec, nil
	case strings.HasPrefix(text, "first:"):
		amount = text[len("first:"):]
	case strings.HasPrefix(text, "random:"):
		spec.Kind, amount = RandomClasses, text[len("random:"):]
	}
	if n, err := strconv.Atoi(amount); err == nil {
		if n < 1 {
			return spec, fmt.Errorf("training classes %q: the number of classes must be at least 1", text)
		}
		spec.Count = n
		return spec, nil
	}
	if f, err := strconv.ParseFloat(amount, 64); err == nil {
		if !(f > 0 && f < 1) {
			return spec, fmt.Errorf("training classes %q: a fraction must lie between 0 and 1", text)
		}
		spec.Fraction = f
		return spec, nil
	}
	if amount != text {
		return spec, fmt.Errorf("training classes %q: %q is neither a fraction nor a number of classes", text, amount)
	}
	if _, err := os.Stat(text); err != nil {
		return spec, fmt.Errorf("training classes %q: there is no such file; %s", text, splitUsage)
	}
	spec.Kind, spec.File = ListedClasses, text
	return spec, nil
}

const splitUsage = "allowed are auto, half, a fraction such as 0.5, a number of classes, first:N, random:N, published, or a file that lists the classes"

// Split divides a set by class, so that no class is in both parts. Labels of
// each part run from 0; Classes keeps the names behind them.
func Split(set *Set, spec SplitSpec) (train, test *Set, err error) {
	if err := set.check(); err != nil {
		return nil, nil, err
	}
	if set.Unlabeled && !set.OneEach {
		return nil, nil, fmt.Errorf("%s: its %s are in no folders of classes; wanted is one folder a class", set.Name, plural.Of(len(set.Items), "image"))
	}
	if len(set.Classes) < 2 {
		return nil, nil, fmt.Errorf("%s: %s; to test on classes never seen in training it takes at least 2", set.Name, plural.Of(len(set.Classes), "class"))
	}
	var inTrain []bool
	switch spec = spec.resolve(set); spec.Kind {
	case PublishedSplit:
		return publishedSplit(set)
	case ListedClasses:
		inTrain, err = listedClasses(set, spec.File)
	default:
		inTrain, err = spec.choose(set)
	}
	if err != nil {
		return nil, nil, err
	}
	var a, b []int
	for i, it := range set.Items {
		if inTrain[it.Label] {
			a = append(a, i)
		} else {
			b = append(b, i)
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, nil, fmt.Errorf("%s: the split leaves no classes for %s", set.Name, map[bool]string{true: "training", false: "testing"}[len(a) == 0])
	}
	return set.Select(set.Name+" (train)", a), set.Select(set.Name+" (test)", b), nil
}

// choose marks the first or the drawn classes.
func (s SplitSpec) choose(set *Set) ([]bool, error) {
	c := len(set.Classes)
	n := s.Count
	if n == 0 {
		n = int(math.Round(s.Fraction * float64(c)))
	}
	if n < 1 || n >= c {
		return nil, fmt.Errorf("%s: %d of its %d classes for training; it must be 1 to %d", set.Name, n, c, c-1)
	}
	inTrain := make([]bool, c)
	if s.Kind == FirstClasses {
		for i := range n {
			inTrain[i] = true
		}
		return inTrain, nil
	}
	for _, label := range newRand(s.Seed, mixString("split")).Perm(c)[:n] {
		inTrain[label] = true
	}
	return inTrain, nil
}

// publishedSplit uses what the set says of every item.
func publishedSplit(set *Set) (train, test *Set, err error) {
	var a, b []int
	side := make([]Part, len(set.Classes))
	for i, it := range set.Items {
		part := it.Part
		switch part {
		case NoPart:
			return nil, nil, fmt.Errorf("%s: it comes without a split (%s is in no part)", set.Name, set.Where(i))
		case TestPart:
			b = append(b, i)
		case TrainPart, ValidationPart:
			part = TrainPart
			a = append(a, i)
		}
		if was := side[it.Label]; was != NoPart && was != part && !set.SharedClasses {
			return nil, nil, fmt.Errorf("%s: class %q is both in the training and in the test part", set.Name, set.Classes[it.Label])
		}
		side[it.Label] = part
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, nil, &OneSidedError{set.Name, len(a), len(b)}
	}
	return set.Select(set.Name+" (train)", a), set.Select(set.Name+" (test)", b), nil
}

// OneSidedError says that the split that a set comes with has one part alone.
type OneSidedError struct {
	Set         string
	Train, Test int // images; one is 0
}

func (e *OneSidedError) Error() string {
	return fmt.Sprintf("%s: its split has %d training and %d test images", e.Set, e.Train, e.Test)
}

// listedClasses marks the classes that a file names.
func listedClasses(set *Set, file string) ([]bool, error) {
	b, err := table.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("list of training classes: %w", err)
	}
	text, _, err := table.Text(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	labels := make(map[string]int, len(set.Classes))
	for i, c := range set.Classes {
		labels[c] = i
	}
	inTrain := make([]bool, len(set.Classes))
	for n, line := range textLines([]byte(text)) {
		label, ok := labels[line]
		if !ok {
			trimmed := strings.TrimSpace(line)
			if trimmed == "" || strings.HasPrefix(trimmed, "#") {
				continue
			}
			if label, ok = labels[trimmed]; !ok {
				return nil, fmt.Errorf("%s line %d: %s has no class %q; its classes are %s", file, n, set.Name, trimmed, nametext.Few(set.Classes))
			}
		}
		if inTrain[label] {
			return nil, fmt.Errorf("%s line %d: class %q is listed twice", file, n, set.Classes[label])
		}
		inTrain[label] = true
	}
	return inTrain, nil
}

// Testable says why nothing can be measured on a test part: it has one class, or no
// class with two images.
func Testable(test *Set) error {
	if len(test.Classes) == 1 {
		return fmt.Errorf("1 class (%q) is left to be tested on, among whose images every neighbor is right", test.Classes[0])
	}
	retrievable := test.retrievable()
	for _, items := range test.ByClass() {
		if retrievable(items) {
			return nil
		}
	}
	if test.grouped() {
		return fmt.Errorf("none of the %d test classes has a query and an image to be found in two groups: a search leaves out images of the query's class and group", len(test.Classes))
	}
	return fmt.Errorf("each of the %d test classes has one image, so that none has another of its class to be found", len(test.Classes))
}

// grouped reports whether searches of the set leave out images of the query's class and
// group.
func (s *Set) grouped() bool {
	return slices.ContainsFunc(s.Items, func(it Item) bool { return it.Group > 0 })
}

// unit is what a class needs two of, so that one can be found.
func (s *Set) unit() string {
	if s.grouped() {
		return "groups"
	}
	return "images"
}

// retrievable returns what reports whether a query of a class, whose items are given, has
// another of them to be found.
func (s *Set) retrievable() func(items []int) bool {
	if !s.grouped() {
		return func(items []int) bool { return len(items) > 1 }
	}
	notAll := func(r Role) bool { return slices.ContainsFunc(s.Items, func(it Item) bool { return it.Role != r }) }
	roles := notAll(GalleryRole) && notAll(QueryRole) // else all images are on both sides
	return func(items []int) bool {
		left, right := map[int]bool{}, map[int]bool{}
		for _, i := range items {
			it := s.Items[i]
			if it.Group == 0 {
				it.Group = -1 - i // its own
			}
			if !roles || it.Role != GalleryRole {
				left[it.Group] = true
			}
			if !roles || it.Role != QueryRole {
				right[it.Group] = true
			}
		}
		for group := range left {
			if len(right) > 1 || len(right) == 1 && !right[group] {
				return true
			}
		}
		return false
	}
}
