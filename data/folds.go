package data

import "fmt"

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
	const least = 2 // among the images of one class every neighbour is right
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
