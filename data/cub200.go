package data

import (
	"fmt"
	"path"
	"strconv"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
)

// openCUB reads Caltech-UCSD Birds-200-2011 as unpacked. The split of metric
// learning is by class, 1-100 for training and 101-200 for testing; the set's
// own train_test_split.txt divides images of one class and is not used.
func openCUB(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		dir, ok := findRoot(w, src, "image_class_labels.txt", "CUB_200_2011")
		if !ok {
			return fmt.Errorf("%s: no image_class_labels.txt in it or in CUB_200_2011; wanted is the folder CUB_200_2011 as unpacked, or its parent", root)
		}
		paths := map[string]string{}
		err := readLines(src, path.Join(dir, "images.txt"), 2, func(f []string) error {
			if _, ok := paths[f[0]]; ok {
				return fmt.Errorf("image %s is listed twice", f[0])
			}
			paths[f[0]] = f[1]
			return nil
		})
		if err != nil {
			return err
		}
		names := map[string]string{}
		err = readLines(src, path.Join(dir, "classes.txt"), 2, func(f []string) error {
			names[f[0]] = f[1]
			return nil
		})
		if err != nil {
			return err
		}
		var keys []string
		err = readLines(src, path.Join(dir, "image_class_labels.txt"), 2, func(f []string) error {
			file, ok := paths[f[0]]
			if !ok {
				return fmt.Errorf("image %s is not in images.txt, or labeled twice", f[0])
			}
			delete(paths, f[0])
			class, err := strconv.Atoi(f[1])
			if err != nil || class < 1 {
				return fmt.Errorf("class %q, want a number from 1", f[1])
			}
			if names[f[1]] == "" {
				return fmt.Errorf("class %d is not in classes.txt", class)
			}
			keys = append(keys, f[1])
			set.Items = append(set.Items, Item{Path: path.Join(dir, "images", file), Part: firstPart(class, 100)})
			return nil
		})
		if err != nil {
			return err
		}
		if len(paths) > 0 {
			return fmt.Errorf("%s: %d images of images.txt have no label in image_class_labels.txt", root, len(paths))
		}
		set.classify(keys, func(k string) string { return names[k] })
		set.Published = &Published{TrainImages: 5864, TestImages: 5924, TrainClasses: 100, TestClasses: 100}
		return nil
	})
}

// firstPart puts classes 1..n into the training part, the others into the test
// part.
func firstPart(class, n int) Part {
	if class <= n {
		return TrainPart
	}
	return TestPart
}
