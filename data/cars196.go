package data

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/internal/source"
)

// carClasses is the number of classes of Stanford Cars; the first 98 are for
// training.
const carClasses = 196

// openCars reads Stanford Cars in any of the layouts it is handed around in:
// car_ims with cars_annos.mat; cars_train, cars_test with devkit/*.mat; or one
// folder a class.
func openCars(w *progress.Tracker, root string, o Options) (*Set, error) {
	return openSet(w, root, o, func(src source.Tree, set *Set) error {
		set.Published = &Published{TrainImages: 8054, TestImages: 8131, TrainClasses: 98, TestClasses: 98}
		if dir, ok := findRoot(w, src, "cars_annos.mat", "cars196", "stanford_cars"); ok {
			return carsOneList(src, set, dir)
		}
		if dir, ok := findRoot(w, src, "devkit/cars_train_annos.mat", "stanford_cars", "car_data"); ok {
			return carsDevkit(src, set, dir)
		}
		return carsFolders(w, src, set, root)
	})
}

// carsOneList reads cars_annos.mat, which lists all images with their paths.
func carsOneList(src source.Tree, set *Set, dir string) error {
	file := path.Join(dir, "cars_annos.mat")
	vars, err := readCarsMAT(src, file)
	if err != nil {
		return err
	}
	names, err := carNames(src, file, vars)
	if err != nil {
		return err
	}
	return carsAnnotations(src, set, file, vars, "relative_im_path", dir, names)
}

// carsDevkit reads the lists of the training and test images of the original
// classification task; both hold images of all classes.
func carsDevkit(src source.Tree, set *Set, dir string) error {
	meta := path.Join(dir, "devkit/cars_meta.mat")
	vars, err := readCarsMAT(src, meta)
	if err != nil {
		return err
	}
	names, err := carNames(src, meta, vars)
	if err != nil {
		return err
	}
	train := path.Join(dir, "devkit/cars_train_annos.mat")
	test := path.Join(dir, "cars_test_annos_withlabels.mat")
	if _, err := src.Stamp(test); err != nil {
		test = path.Join(dir, "devkit/cars_test_annos_withlabels.mat")
		if _, err := src.Stamp(test); err != nil {
			return fmt.Errorf("%s: missing; the test images without it have no labels", src.Name(test))
		}
	}
	for _, list := range []struct{ file, images string }{{train, "cars_train"}, {test, "cars_test"}} {
		if vars, err = readCarsMAT(src, list.file); err != nil {
			return err
		}
		if err := carsAnnotations(src, set, list.file, vars, "fname", path.Join(dir, list.images), names); err != nil {
			return err
		}
	}
	return nil
}

func readCarsMAT(src source.Tree, file string) (map[string]*matValue, error) {
	b, err := source.ReadFile(src, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name(file), err)
	}
	vars, err := readMAT(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name(file), err)
	}
	return vars, nil
}

// carNames returns the cell array class_names.
func carNames(src source.Tree, file string, vars map[string]*matValue) ([]string, error) {
	v := vars["class_names"]
	if v == nil || len(v.cells) != carClasses {
		n := 0
		if v != nil {
			n = len(v.cells)
		}
		return nil, fmt.Errorf("%s: %d class_names, want %d", src.Name(file), n, carClasses)
	}
	names := make([]string, len(v.cells))
	for i, c := range v.cells {
		names[i] = c.text
	}
	return names, nil
}

// carsAnnotations adds the images of the structure array annotations.
func carsAnnotations(src source.Tree, set *Set, file string, vars map[string]*matValue, pathField, dir string, names []string) error {
	a := vars["annotations"]
	if a == nil || len(a.fields["class"]) == 0 || len(a.fields["class"]) != len(a.fields[pathField]) {
		return fmt.Errorf("%s: no structure annotations with fields class and %s", src.Name(file), pathField)
	}
	keys := make([]string, 0, len(set.Items)+len(a.fields["class"]))
	for _, it := range set.Items { // of an earlier list
		keys = append(keys, strconv.Itoa(it.index))
	}
	for i, v := range a.fields["class"] {
		class, err := v.number()
		if err != nil || class < 1 || class > carClasses || class != math.Trunc(class) {
			return fmt.Errorf("%s: annotation %d: class %v, want 1 to %d", src.Name(file), i+1, v.numbers, carClasses)
		}
		name := a.fields[pathField][i].text
		if name == "" {
			return fmt.Errorf("%s: annotation %d: no %s", src.Name(file), i+1, pathField)
		}
		keys = append(keys, strconv.Itoa(int(class)))
		set.Items = append(set.Items, Item{Path: path.Join(dir, name), Part: firstPart(int(class), carClasses/2), index: int(class)})
	}
	set.classify(keys, func(k string) string {
		n, _ := strconv.Atoi(k) // a key made above
		return names[n-1]
	})
	return nil
}

// carsFolders reads one folder a class, possibly under train/ and test/, which
// both hold all classes. The classes' numbers are those of their names in byte
// order: it agrees with the annotations' on which classes are the first 98.
func carsFolders(w *progress.Tracker, src source.Tree, set *Set, root string) error {
	found, err := source.ReadEntries(w, src)
	if err != nil {
		return err
	}
	set.Notices, set.Problems = found.Notices, found.Problems
	var classes, order []string
	for _, f := range found.Images {
		if !strings.Contains(f, "/") {
			continue
		}
		classes = append(classes, path.Base(path.Dir(f)))
		set.Items = append(set.Items, Item{Path: f})
	}
	order = slices.Clone(classes)
	slices.Sort(order)
	order = slices.Compact(order)
	if len(order) != carClasses {
		return fmt.Errorf("%s: %d folders with images; wanted are %d, one a class, or cars_annos.mat beside car_ims, or devkit/cars_train_annos.mat beside cars_train", root, len(order), carClasses)
	}
	numbers := make(map[string]int, len(order))
	for i, c := range order {
		numbers[c] = i
	}
	set.Classes = order
	for i, c := range classes {
		set.Items[i].Label = numbers[c]
		set.Items[i].Part = firstPart(numbers[c]+1, carClasses/2)
	}
	return nil
}
