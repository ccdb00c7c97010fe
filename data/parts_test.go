package data

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/internal/natural"
)

// images makes a set of one small image at each path, all different.
func images(t testing.TB, paths ...string) files {
	t.Helper()
	f := files{}
	for i, p := range paths {
		f[p] = imagetest.EncodePNG(t, picture(5, 5, uint64(i)))
	}
	return f
}

func TestPartsOfAClassificationSetAreJoined(t *testing.T) {
	const joined = "; a metric is tested on classes that training has not seen, so the split is by class and not by these parts (to use one part alone, give its folder)"
	for name, c := range map[string]struct {
		paths, classes []string
		problem        string
	}{
		"train and val": {[]string{"train/a/1.png", "train/b/1.png", "val/a/2.png", "val/b/2.png"}, []string{"a", "b"},
			"parts train (2 images), val (2 images) hold the same classes: joined, one class each"},
		"below a shared folder": {[]string{"x/y/train/a/1.png", "x/y/train/b/1.png", "x/y/test/a/2.png", "x/y/test/b/2.png"}, []string{"a", "b"},
			"parts train (2 images), test (2 images) hold the same classes: joined, one class each"},
		"capital letters": {[]string{"Training/a/1.png", "TEST/a/1.png", "Validation/a/1.png", "Validation/b/1.png", "Training/b/1.png"}, []string{"a", "b"},
			"parts Training (2 images), Validation (2 images), TEST (1 image) hold 2 of 2 classes together: joined, one class each"},
		"longer names": {[]string{"training_set/training_set/cats/1.png", "training_set/training_set/dogs/1.png", "test_set/test_set/cats/2.png", "test_set/test_set/dogs/2.png"}, []string{"cats", "dogs"},
			"parts training_set (2 images), test_set (2 images) hold the same classes: joined, one class each"},
		"years": {[]string{"train2017/a/1.png", "val2017/a/1.png", "val2017/b/1.png"}, []string{"a", "b"},
			"parts train2017 (1 image), val2017 (2 images) hold 1 of 2 classes together: joined, one class each"},
		"classes of other capitals": {[]string{"train/Robin/1.png", "train/wren/1.png", "test/robin/2.png", "test/Wren/2.png"}, []string{"Wren", "robin"},
			"parts train (2 images), test (2 images) hold the same classes: joined, one class each"},
		"deep classes": {[]string{"train/Greek/1/1.png", "train/Latin/1/1.png", "test/Greek/1/2.png", "test/Latin/1/2.png"}, []string{"Greek/1", "Latin/1"},
			"parts train (2 images), test (2 images) hold the same classes: joined, one class each"},
		"parts below the classes": {[]string{"a/train/1.png", "a/test/2.png", "b/train/1.png", "b/test/2.png"}, []string{"a", "b"},
			"parts train (2 images), test (2 images) hold the same classes: joined, one class each"},
		"parts between": {[]string{"bottle/train/good/1.png", "bottle/test/good/2.png", "bottle/test/broken/1.png", "cable/train/good/1.png"}, []string{"bottle/broken", "bottle/good", "cable/good"},
			"parts train (2 images), test (2 images) hold 1 of 3 classes together: joined, one class each"},
		"a class called test": {[]string{"train/test/1.png", "train/a/1.png", "val/test/1.png", "val/a/1.png"}, []string{"a", "test"},
			"parts train (2 images), val (2 images) hold the same classes: joined, one class each"},
		"something beside": {[]string{"train/a/1.png", "train/b/1.png", "val/a/2.png", "val/b/2.png", "others/1.png"}, []string{"a", "b", "others"},
			"parts train (2 images), val (2 images) hold the same classes: joined, one class each"},
		"Portuguese": {[]string{"treino/a/1.png", "treino/b/1.png", "validação/a/2.png", "teste/b/2.png"}, []string{"a", "b"},
			"parts treino (2 images), validação (1 image), teste (1 image) hold 2 of 2 classes together: joined, one class each"},
		"German": {[]string{"Trainingsdaten/a/1.png", "Trainingsdaten/b/1.png", "Testbilder/a/2.png", "Testbilder/b/2.png"}, []string{"a", "b"},
			"parts Trainingsdaten (2 images), Testbilder (2 images) hold the same classes: joined, one class each"},
		"Spanish": {[]string{"entrenamiento/a/1.png", "entrenamiento/b/1.png", "prueba/a/2.png", "prueba/b/2.png"}, []string{"a", "b"},
			"parts entrenamiento (2 images), prueba (2 images) hold the same classes: joined, one class each"},
		"French, accents in two code points": {[]string{"Entrai\u0302nement/a/1.png", "Entrai\u0302nement/b/1.png", "essai/a/2.png", "essai/b/2.png"}, []string{"a", "b"},
			"parts Entrai\u0302nement (2 images), essai (2 images) hold the same classes: joined, one class each"},
		"Chinese": {[]string{"训练集/a/1.png", "训练集/b/1.png", "测试集/a/2.png", "测试集/b/2.png"}, []string{"a", "b"},
			"parts 训练集 (2 images), 测试集 (2 images) hold the same classes: joined, one class each"},
		"folds": {[]string{"fold1/a/1.png", "fold1/b/1.png", "fold2/a/2.png", "fold10/b/2.png"}, []string{"a", "b"},
			"parts fold1 (2 images), fold2 (1 image), fold10 (1 image) hold 2 of 2 classes together: joined, one class each"},
		"folds and a test": {[]string{"fold_1/a/1.png", "fold_2/b/1.png", "test/a/2.png", "test/b/2.png"}, []string{"a", "b"},
			"parts test (2 images), fold_1 (1 image), fold_2 (1 image) hold 2 of 2 classes together: joined, one class each"},
		"with a part without labels": {[]string{"train/a/1.png", "test/a/1.png", "test/b/2.png", "unlabeled/b/3.png"}, []string{"a", "b"},
			"parts train (1 image), test (2 images), unlabeled (1 image) hold 2 of 2 classes together: joined, one class each"},
		"persons": {[]string{"probe/a/1.png", "gallery/a/2.png", "gallery/b/2.png", "train_all/a/3.png", "train_all/b/3.png"}, []string{"a", "b"},
			"parts train_all (2 images), probe (1 image), gallery (2 images) hold 2 of 2 classes together: joined, one class each"},
	} {
		f := images(t, c.paths...)
		for _, root := range []string{f.folder(t), f.zip(t)} {
			set := mustOpen(t, "folder:"+root)
			if !slices.Equal(natural.Sorted(set.Classes), c.classes) || len(set.Items) != len(c.paths) {
				t.Errorf("%s: classes %q, %d images", name, set.Classes, len(set.Items))
			}
			if want := []string{c.problem + joined}; !slices.Equal(set.Problems, want) || len(set.Notices) > 0 {
				t.Errorf("%s: problems %q, notices %q", name, set.Problems, set.Notices)
			}
			for _, it := range set.Items {
				if class := strings.ToLower(set.Classes[it.Label]); !strings.Contains(strings.ToLower(it.Path), strings.Split(class, "/")[0]) {
					t.Errorf("%s: %s is in class %s", name, it.Path, class)
				}
			}
			train, test, err := Split(set, SplitSpec{Kind: AutoSplit})
			if err != nil || len(train.Classes)+len(test.Classes) != len(c.classes) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPartsOfPartsAreJoined(t *testing.T) {
	set := mustOpen(t, "folder:"+images(t, "split1/train/a/1.png", "split1/test/a/2.png", "split1/test/b/2.png", "split2/train/b/3.png", "split2/test/a/4.png").folder(t))
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 5 || !set.SharedClasses || len(set.Problems) != 2 ||
		!strings.HasPrefix(set.Problems[0], "parts split1 (3 images), split2 (2 images) hold 1 of 4 classes together: joined") ||
		!strings.HasPrefix(set.Problems[1], "parts train (2 images), test (3 images) hold the same classes: joined") {
		t.Errorf("%q, %d images, %q", set.Classes, len(set.Items), set.Problems)
	}
	for _, it := range set.Items {
		if want := map[bool]Part{true: TrainPart, false: TestPart}[strings.Contains(it.Path, "train")]; it.Part != want {
			t.Errorf("%s is for %s", it.Path, it.Part)
		}
	}
}

func TestImagesWithoutLabelsAreNoClass(t *testing.T) {
	for _, f := range []files{
		images(t, "train/a/1.png", "train/b/1.png", "test/a/2.png", "test/b/2.png", "unlabeled/0/1.png", "unlabeled/0/2.png"),
		images(t, "train/a/1.png", "train/b/1.png", "test/a/2.png", "test/b/2.png", "unlabelled_images/1.png", "unlabelled_images/2.png"),
	} {
		set := mustOpen(t, "folder:"+f.folder(t))
		if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 4 || len(set.Problems) != 1 || len(set.Notices) != 1 ||
			!strings.HasPrefix(set.Notices[0], "2 images of part unlabel") || !strings.HasSuffix(set.Notices[0], "left out, whose classes are not known") {
			t.Errorf("%q, %d images, %q, %q", set.Classes, len(set.Items), set.Problems, set.Notices)
		}
	}
}

func TestValidationPartOfOtherClassesChoosesTheBestEpoch(t *testing.T) {
	for name, c := range map[string]struct {
		paths          []string
		fit, val, test []string
		notice         string
	}{
		"classes of its own": {[]string{"train/a/1.png", "train/b/1.png", "val/c/1.png", "val/c/2.png", "val/d/1.png", "test/e/1.png", "test/f/1.png"},
			[]string{"a", "b"}, []string{"c", "d"}, []string{"e", "f"},
			"train (2 images) for training, val (3 images) for choosing the best epoch, test (2 images) for testing"},
		"classes of the test": {[]string{"train/a/1.png", "train/b/1.png", "val/e/2.png", "val/f/2.png", "test/e/1.png", "test/f/1.png"},
			nil, nil, []string{"e", "f"}, "train (2 images) for training, val (2 images), test (2 images) for testing"},
		"classes of the training": {[]string{"train/a/1.png", "train/b/1.png", "val/a/2.png", "val/b/2.png", "test/e/1.png", "test/f/1.png"},
			nil, nil, []string{"e", "f"}, "train (2 images), val (2 images) for training, test (2 images) for testing"},
	} {
		set := mustOpen(t, "folder:"+images(t, c.paths...).folder(t))
		if len(set.Problems) > 0 || len(set.Notices) != 1 || !strings.HasSuffix(set.Notices[0], ": "+c.notice) {
			t.Errorf("%s: %q, %q", name, set.Notices, set.Problems)
		}
		train, test, err := Split(set, SplitSpec{Kind: AutoSplit})
		if err != nil || !slices.Equal(test.Classes, c.test) {
			t.Fatalf("%s: %v, tested on %q", name, err, test.Classes)
		}
		fit, val, err := Validation(train, 0.1, 1)
		if c.val == nil {
			continue // drawn, or too few
		}
		if err != nil || !slices.Equal(fit.Classes, c.fit) || !slices.Equal(val.Classes, c.val) {
			t.Errorf("%s: trained on %v, validated by %v, %v", name, fit, val, err)
		}
	}
}

func TestPublishedPartsOfJoinedClassesDivideImages(t *testing.T) {
	set := mustOpen(t, "folder:"+images(t, "train/a/1.png", "train/b/1.png", "val/a/2.png", "test/a/3.png", "test/b/4.png").folder(t))
	train, test, err := Split(set, SplitSpec{Kind: PublishedSplit})
	if err != nil {
		t.Fatal(err)
	}
	if len(train.Items) != 3 || len(test.Items) != 2 || len(train.Classes) != 2 || len(test.Classes) != 2 {
		t.Errorf("%d and %d images", len(train.Items), len(test.Items))
	}
}

func TestPartsOfDifferentClassesAreTheSplit(t *testing.T) {
	for name, c := range map[string]struct {
		paths       []string
		train, test []string
		notice      string
	}{
		"train and test": {[]string{"train/b/1.png", "train/c/1.png", "test/a/1.png", "test/d/1.png"}, []string{"b", "c"}, []string{"a", "d"},
			"the folders of the set are its parts and hold different classes: train (2 images) for training, test (2 images) for testing"},
		"train and val": {[]string{"train/b/1.png", "val/a/1.png"}, []string{"b"}, []string{"a"},
			"the folders of the set are its parts and hold different classes: train (1 image) for training, val (1 image) for testing"},
		"all three": {[]string{"train/b/1.png", "val/a/1.png", "test/c/1.png"}, []string{"a", "b"}, []string{"c"},
			"the folders of the set are its parts and hold different classes: train (1 image), val (1 image) for training, test (1 image) for testing"},
		"queries and gallery": {[]string{"train/b/1.png", "query/a/1.png", "gallery/a/2.png", "gallery/c/1.png"}, []string{"b"}, []string{"a", "c"},
			"the folders of the set are its parts and hold different classes: train (1 image) for training, query (1 image), gallery (2 images) for testing"},
	} {
		set := mustOpen(t, "folder:"+images(t, c.paths...).folder(t))
		if !slices.Equal(set.Notices, []string{c.notice}) || len(set.Problems) > 0 {
			t.Errorf("%s: notices %q, problems %q", name, set.Notices, set.Problems)
		}
		train, test, err := Split(set, SplitSpec{Kind: AutoSplit})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(train.Classes, c.train) || !slices.Equal(test.Classes, c.test) {
			t.Errorf("%s: %q and %q", name, train.Classes, test.Classes)
		}
	}
}

func TestQueriesAndGalleryAloneAreJoinedWithTheirRoles(t *testing.T) {
	set := mustOpen(t, "folder:"+images(t, "query/a/1.png", "query/b/1.png", "gallery/a/2.png", "gallery/b/2.png").folder(t))
	roles := map[string]Role{}
	for _, it := range set.Items {
		roles[it.Path] = it.Role
	}
	if want := (map[string]Role{"query/a/1.png": QueryRole, "query/b/1.png": QueryRole, "gallery/a/2.png": GalleryRole, "gallery/b/2.png": GalleryRole}); !maps.Equal(roles, want) {
		t.Errorf("%v", roles)
	}
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Problems) > 0 || len(set.Notices) != 1 || !strings.Contains(set.Notices[0], "joined") {
		t.Errorf("%q, %q, %q", set.Classes, set.Problems, set.Notices)
	}
}

func TestImagesOfAPartWithoutClassesAreLeftOut(t *testing.T) {
	set := mustOpen(t, "folder:"+images(t, "train/a/1.png", "train/b/1.png", "test/1.png", "test/2.png").folder(t))
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 2 ||
		!slices.Equal(set.Problems, []string{"2 images of part test left out, in no class's folder"}) || len(set.Notices) > 0 {
		t.Errorf("%q, %d images, %q, %q", set.Classes, len(set.Items), set.Problems, set.Notices)
	}
	set = mustOpen(t, "folder:"+images(t, "train/a/1.png", "train/b/1.png", "val/a/1.png", "val/b/1.png", "test/1.png").folder(t))
	if !slices.Equal(set.Classes, []string{"a", "b"}) || len(set.Items) != 4 || len(set.Problems) != 2 {
		t.Errorf("%q, %d images, %q", set.Classes, len(set.Items), set.Problems)
	}
}

func TestClassesThatOnlyLookLikePartsStayClasses(t *testing.T) {
	for name, c := range map[string]struct{ paths, classes []string }{
		"beside a bird":            {[]string{"robin/1.png", "test/1.png", "wren/1.png"}, []string{"robin", "test", "wren"}},
		"two classes":              {[]string{"train/1.png", "test/1.png"}, []string{"test", "train"}},
		"vehicles":                 {[]string{"train/front/1.png", "bus/front/1.png", "test/front/1.png"}, []string{"bus/front", "test/front", "train/front"}},
		"one part":                 {[]string{"train/a/1.png", "train/b/1.png"}, []string{"a", "b"}},
		"one part beside a class":  {[]string{"train/a/1.png", "robin/b/1.png"}, []string{"robin/b", "train/a"}},
		"deep, in one of them":     {[]string{"Greek/train/1.png", "Greek/alpha/1.png", "Latin/test/1.png"}, []string{"Greek/alpha", "Greek/train", "Latin/test"}},
		"deep, of no common class": {[]string{"Greek/train/1.png", "Latin/test/1.png"}, []string{"Greek/train", "Latin/test"}},
		"longer words":             {[]string{"training shoes/a/1.png", "testudo/a/1.png"}, []string{"testudo/a", "training shoes/a"}},
	} {
		set := mustOpen(t, "folder:"+images(t, c.paths...).folder(t))
		if !slices.Equal(set.Classes, c.classes) || len(set.Items) != len(c.paths) || len(set.Problems) > 0 || len(set.Notices) > 0 {
			t.Errorf("%s: %q, %d images, %q, %q", name, set.Classes, len(set.Items), set.Problems, set.Notices)
		}
	}
	set := mustOpen(t, "folder:"+images(t, "val/a/1.png", "test/b/1.png").folder(t))
	if !slices.Equal(set.Classes, []string{"test/b", "val/a"}) || len(set.Notices) != 1 || !strings.Contains(set.Notices[0], "none is for training") {
		t.Errorf("%q, %q", set.Classes, set.Notices)
	}
}
