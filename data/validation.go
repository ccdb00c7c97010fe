package data

import (
	"errors"
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/internal/plural"
)

// ErrTooFewClasses says that no validation classes can be set aside.
var ErrTooFewClasses = errors.New("too few classes to set some aside for validation")

// Validation takes a part of the training classes away to choose the best epoch
// by: those of the set's own validation part where it has one, or else fraction of
// them, drawn by seed among the classes with two images or more, of a set with groups in
// two groups or more (others have nothing to be retrieved). At least two classes stay
// on each side.
func Validation(train *Set, fraction float64, seed uint64) (fit, val *Set, err error) {
	if err := train.check(); err != nil {
		return nil, nil, err
	}
	if !(fraction > 0 && fraction < 1) {
		return nil, nil, fmt.Errorf("validation: fraction %g, it must lie between 0 and 1", fraction)
	}
	if own := ownValidation(train); own != nil {
		fit, val = train.divide(own)
		return fit, val, nil
	}
	var able []int
	retrievable := train.retrievable()
	for label, items := range train.ByClass() {
		if retrievable(items) {
			able = append(able, label)
		}
	}
	const least = 2 // among the images of one class every neighbor is right
	n := max(int(math.Round(fraction*float64(len(train.Classes)))), least)
	n = min(n, len(able), len(train.Classes)-least)
	if n < least {
		return nil, nil, fmt.Errorf("%s: %w: %s, %d of them with two %s or more", train.Name, ErrTooFewClasses, plural.Of(len(train.Classes), "class"), len(able), train.unit())
	}
	inVal := make([]bool, len(train.Classes))
	for _, k := range newRand(seed, mixString("validation")).Perm(len(able))[:n] {
		inVal[able[k]] = true
	}
	fit, val = train.divide(inVal)
	return fit, val, nil
}

// ownValidation marks the classes of the validation part that the set comes with. It is
// nil where there is none, where it shares classes with what is trained on, or where a
// side has too few to measure by.
func ownValidation(train *Set) []bool {
	inVal, inFit := make([]bool, len(train.Classes)), make([]bool, len(train.Classes))
	for _, it := range train.Items {
		switch it.Part {
		case ValidationPart:
			inVal[it.Label] = true
		case TrainPart:
			inFit[it.Label] = true
		default: // the training classes are not those of the set's own split
			return nil
		}
	}
	fit, val, able := 0, 0, 0
	retrievable := train.retrievable()
	for label, items := range train.ByClass() {
		switch {
		case inFit[label] && inVal[label]:
			return nil
		case inFit[label]:
			fit++
		default:
			val++
			if retrievable(items) {
				able++
			}
		}
	}
	if fit < 2 || val < 2 || able == 0 {
		return nil
	}
	return inVal
}

// divide returns the training and the validation classes apart.
func (s *Set) divide(inVal []bool) (fit, val *Set) {
	var a, b []int
	for i, it := range s.Items {
		if inVal[it.Label] {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	return s.Select(s.Name+" (fit)", a), s.Select(s.Name+" (validation)", b)
}

// settleValidation decides what the validation rows of a table are for. Beside training
// and test rows of other classes they choose the best epoch; where one of the two is
// missing, or test rows have their classes, they are tested on.
func (s *Set) settleValidation() {
	count, tested, n := map[Part]int{}, map[int]bool{}, 0
	for _, it := range s.Items {
		count[it.Part]++
		tested[it.Label] = tested[it.Label] || it.Part == TestPart
	}
	toTest := count[TrainPart] == 0 || count[TestPart] == 0
	for _, it := range s.Items {
		if it.Part == ValidationPart {
			n++
			toTest = toTest || tested[it.Label]
		}
	}
	if n == 0 {
		return
	}
	rows := plural.Of(n, "validation row")
	if toTest {
		for i := range s.Items {
			if s.Items[i].Part == ValidationPart {
				s.Items[i].Part = TestPart
			}
		}
		return
	}
	train, _, err := publishedSplit(s)
	switch {
	case err != nil: // Split says it where it matters
	case ownValidation(train) != nil:
		s.Notices = append(s.Notices, rows+" of the table choose the best epoch: their classes are neither trained on nor tested on")
	default:
		s.Notices = append(s.Notices, rows+" of the table are trained on: they have classes of the training rows, or too few of their own to choose the best epoch by")
	}
}

// Fold takes one of several folds of the training classes away to choose the best
// epoch by: cross-validation with disjoint classes (Musgrave, Belongie and Lim
// 2020, Sect. 3.1, with 4 folds). Fold number 1 has the first classes by name;
// sizes differ by one class at most. Every fold needs two classes.
func Fold(train *Set, number, folds int) (fit, val *Set, err error) {
	if err := train.check(); err != nil {
		return nil, nil, err
	}
	c := len(train.Classes)
	if folds < 2 || number < 1 || number > folds {
		return nil, nil, fmt.Errorf("validation: fold %d of %d; there must be at least 2, numbered from 1", number, folds)
	}
	const least = 2 // among the images of one class every neighbor is right
	if c < least*folds {
		return nil, nil, fmt.Errorf("%s: %d folds need %d classes, there are %d", train.Name, folds, least*folds, c)
	}
	first, end := (number-1)*c/folds, number*c/folds
	var a, b []int
	for i, it := range train.Items {
		if it.Label >= first && it.Label < end {
			b = append(b, i)
		} else {
			a = append(a, i)
		}
	}
	name := fmt.Sprintf("%s (fold %d of %d: ", train.Name, number, folds)
	return train.Select(name+"fit)", a), train.Select(name+"validation)", b), nil
}
