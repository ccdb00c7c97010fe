package data

import (
	"fmt"
	"path"
	"strconv"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
)

// openSOP reads Stanford Online Products: Ebay_train.txt and Ebay_test.txt.
func openSOP(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		dir, ok := findRoot(w, src, "Ebay_train.txt", "Stanford_Online_Products")
		if !ok {
			return fmt.Errorf("%s: no Ebay_train.txt in it or in Stanford_Online_Products; wanted is the folder as unpacked, or its parent", root)
		}
		var keys []string
		super := map[string]string{}
		for _, list := range []struct {
			file string
			part Part
		}{{"Ebay_train.txt", TrainPart}, {"Ebay_test.txt", TestPart}} {
			first := true
			err := readLines(src, path.Join(dir, list.file), 4, func(f []string) error {
				if first { // image_id class_id super_class_id path
					first = false
					if f[0] == "image_id" {
						return nil
					}
				}
				for _, number := range f[:3] {
					if _, err := strconv.Atoi(number); err != nil {
						return fmt.Errorf("%q is not a number", number)
					}
				}
				if was, ok := super[f[1]]; ok && was != f[2] {
					return fmt.Errorf("class %s is in super-classes %s and %s", f[1], was, f[2])
				}
				super[f[1]] = f[2]
				keys = append(keys, f[1])
				set.Items = append(set.Items, Item{Path: path.Join(dir, f[3]), Part: list.part})
				return nil
			})
			if err != nil {
				return err
			}
		}
		set.classify(keys, nil)
		set.superClasses(func(class string) string { return super[class] }, func(it Item) string {
			return path.Base(path.Dir(it.Path))
		})
		set.Published = &Published{TrainImages: 59551, TestImages: 60502, TrainClasses: 11318, TestClasses: 11316}
		return nil
	})
}

// superClasses numbers the super-classes that key gives for class names. Their
// names are made of any of their items.
func (s *Set) superClasses(key func(class string) string, name func(Item) string) {
	index := map[string]int{}
	s.Super = make([]int, len(s.Classes))
	for label, class := range s.Classes {
		k := key(class)
		if _, ok := index[k]; !ok {
			index[k] = len(index)
		}
		s.Super[label] = index[k]
	}
	s.SuperNames = make([]string, len(index))
	for _, it := range s.Items {
		if n := &s.SuperNames[s.Super[it.Label]]; *n == "" {
			*n = name(it)
		}
	}
}
