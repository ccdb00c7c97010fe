package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// cubFiles is a copy of CUB-200-2011 in the true form: counts[c] images of class
// c+1. Images are written only where pictures is set.
func cubFiles(t testing.TB, root string, counts []int, pictures bool) files {
	t.Helper()
	var images, labels, names, parts strings.Builder
	f := files{}
	id := 0
	for c, n := range counts {
		name := fmt.Sprintf("%03d.Bird_%d", c+1, c+1)
		fmt.Fprintf(&names, "%d %s\n", c+1, name)
		for k := range n {
			id++
			file := fmt.Sprintf("%s/Bird_%d_%04d.jpg", name, c+1, k)
			fmt.Fprintf(&images, "%d %s\n", id, file)
			fmt.Fprintf(&labels, "%d %d\n", id, c+1)
			fmt.Fprintf(&parts, "%d %d\n", id, k%2)
			if pictures {
				f[root+"images/"+file] = imagetest.EncodeJPEG(t, smooth(6, 5, uint64(id)))
				f[root+"images/"+name+"/._x.jpg"] = []byte("x")
			}
		}
	}
	f[root+"images.txt"], f[root+"image_class_labels.txt"] = []byte(images.String()), []byte(labels.String())
	f[root+"classes.txt"], f[root+"train_test_split.txt"] = []byte(names.String()), []byte(parts.String())
	return f
}

// spread distributes total over n classes.
func spread(total, n int) []int {
	counts := make([]int, n)
	for i := range counts {
		counts[i] = total/n + min(1, max(0, total%n-i))
	}
	return counts
}

func checkCounts(t *testing.T, set *Set, want Published) {
	t.Helper()
	spec, err := ParseSplit("auto", 0)
	if err != nil {
		t.Fatal(err)
	}
	train, test, err := Split(set, spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(train.Items) != want.TrainImages || len(test.Items) != want.TestImages ||
		len(train.Classes) != want.TrainClasses || len(test.Classes) != want.TestClasses {
		t.Errorf("%d + %d images of %d + %d classes, want %+v", len(train.Items), len(test.Items), len(train.Classes), len(test.Classes), want)
	}
	for _, c := range train.Classes {
		if slices.Contains(test.Classes, c) {
			t.Errorf("class %q is in both parts", c)
		}
	}
}

// Field cases: the train_test_split file used as the split of metric learning,
// labels from 1, "._" files counted.
func TestCUBIsSplitByClassNotByItsOwnFile(t *testing.T) {
	for name, root := range map[string]string{"unpacked": "", "parent": "CUB_200_2011/"} {
		f := cubFiles(t, root, spread(400, 200), true)
		for _, archive := range []bool{false, true} {
			dir := ""
			if archive {
				dir = f.zip(t)
			} else {
				dir = f.folder(t)
			}
			set := mustOpen(t, "cub200:"+dir)
			checkCounts(t, set, Published{TrainImages: 200, TestImages: 200, TrainClasses: 100, TestClasses: 100})
			if set.Classes[0] != "001.Bird_1" || set.Classes[199] != "200.Bird_200" || set.Items[0].Label != 0 || set.Items[399].Label != 199 {
				t.Errorf("%s: classes %q..%q", name, set.Classes[0], set.Classes[199])
			}
			if _, err := set.Load(t.Context(), 399); err != nil {
				t.Error(err)
			}
			if len(set.Problems) != 1 || !strings.Contains(set.Problems[0], "200 training images instead of 5864") {
				t.Errorf("%s: notices %q", name, set.Problems)
			}
		}
	}
}

func TestFullListsHaveThePublishedCounts(t *testing.T) {
	for spec, c := range map[string]struct {
		files files
		want  Published
	}{
		"cub200": {cubFiles(t, "", append(spread(5864, 100), spread(5924, 100)...), false), Published{TrainImages: 5864, TestImages: 5924, TrainClasses: 100, TestClasses: 100}},
		"sop":    {sopFiles(spread(59551, 11318), spread(60502, 11316)), Published{TrainImages: 59551, TestImages: 60502, TrainClasses: 11318, TestClasses: 11316}},
		"inshop": {inShopFiles(spread(25882, 3997), spread(14218, 3985), spread(12612, 3985)), Published{TrainImages: 25882, TestImages: 26830, TrainClasses: 3997, TestClasses: 3985}},
	} {
		dir := c.files.folder(t)
		start := time.Now()
		set := mustOpen(t, spec+":"+dir)
		t.Logf("%s: %d images listed in %v", spec, len(set.Items), time.Since(start))
		if len(set.Notices) != 0 {
			t.Errorf("%s: notices %q", spec, set.Notices)
		}
		checkCounts(t, set, c.want)
		// Its images are missing: every one is reported.
		if spec == "inshop" {
			continue // one of the three is enough
		}
		r, err := CheckSet(t.Context(), set, CheckOptions{})
		if err != nil || len(r.Bad) != len(set.Items) || !strings.Contains(r.Bad[0].Reason, "no such file") {
			t.Errorf("%s: %d missing files, %v", spec, len(r.Bad), err)
		}
	}
}

func TestCheckReportsWrongCounts(t *testing.T) {
	r, err := Check(t.Context(), "cub200:"+cubFiles(t, "", spread(400, 200), true).folder(t), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "not the published set: 200 training images instead of 5864, 200 test images instead of 5924") || len(r.Warnings) != 0 {
		t.Errorf("problems %q, warnings %q", r.Problems, r.Warnings)
	}
	if r.Split != "published" || r.TrainClasses != 100 {
		t.Errorf("split %q, %d training classes", r.Split, r.TrainClasses)
	}
}

func TestDamagedListsAreRefusedWithTheirLine(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, now, want string
	}{
		"image without label":  {"image_class_labels.txt", "3 1\n", "", "1 images of images.txt have no label"},
		"label without image":  {"images.txt", "3 001.", "9999 001.", "line 3: image 3 is not in images.txt"},
		"labeled twice":        {"image_class_labels.txt", "3 1\n", "2 1\n", "line 3: image 2 is not in images.txt, or labeled twice"},
		"listed twice":         {"images.txt", "3 001.", "2 001.", "images.txt line 3: image 2 is listed twice"},
		"class is no number":   {"image_class_labels.txt", "3 1\n", "3 one\n", `line 3: class "one"`},
		"class 0":              {"image_class_labels.txt", "3 1\n", "3 0\n", `line 3: class "0"`},
		"class without name":   {"image_class_labels.txt", "3 1\n", "3 201\n", "line 3: class 201 is not in classes.txt"},
		"line of one field":    {"image_class_labels.txt", "3 1\n", "3\n", "line 3: 1 field, want 2"},
		"no list of the names": {"classes.txt", "", "", "classes.txt"},
	} {
		f := cubFiles(t, "", spread(800, 200), false)
		if c.old == "" {
			delete(f, c.file)
		} else {
			f[c.file] = []byte(strings.Replace(string(f[c.file]), c.old, c.now, 1))
		}
		_, err := Open(t.Context(), "cub200:"+f.folder(t), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for _, spec := range []string{"cub200", "sop", "inshop", "cars196", "mnist"} {
		dir := files{"a/x.txt": []byte("x")}.folder(t)
		if _, err := Open(t.Context(), spec+":"+dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s of an unrelated folder: %v", spec, err)
		}
	}
}

// sopFiles holds the two lists of Stanford Online Products.
func sopFiles(train, test []int) files {
	f := files{}
	image, class := 0, 0
	for _, part := range []struct {
		file   string
		counts []int
	}{{"Ebay_train.txt", train}, {"Ebay_test.txt", test}} {
		var b strings.Builder
		b.WriteString("image_id class_id super_class_id path\r\n")
		for _, n := range part.counts {
			class++
			super := class%12 + 1
			for k := range n {
				image++
				fmt.Fprintf(&b, "%d %d %d sort %d_final/%d_%d.JPG\r\n", image, class, super, super, 1000+class, k)
			}
		}
		f["Stanford_Online_Products/"+part.file] = []byte(b.String())
	}
	return f
}

func TestSOPHasSuperClasses(t *testing.T) {
	f := sopFiles(spread(40, 20), spread(30, 15))
	for i := range 1 {
		f["Stanford_Online_Products/sort 2_final/1001_"+fmt.Sprint(i)+".JPG"] = imagetest.EncodeJPEG(t, smooth(9, 9, 1))
	}
	set := mustOpen(t, "sop:"+f.folder(t))
	checkCounts(t, set, Published{TrainImages: 40, TestImages: 30, TrainClasses: 20, TestClasses: 15})
	if len(set.SuperNames) != 12 || set.SuperNames[set.Super[0]] != "sort 2_final" {
		t.Errorf("super-classes %q", set.SuperNames)
	}
	if _, err := set.Load(t.Context(), 0); err != nil {
		t.Error(err)
	}
	test := set.Select("part", []int{40, 41})
	if test.SuperNames[test.Super[0]] != set.SuperNames[set.Super[20]] {
		t.Error("a part loses its super-classes")
	}
	list := "Stanford_Online_Products/Ebay_test.txt"
	f[list] = []byte(strings.Replace(string(f[list]), "\r\n42 ", "\r\nx ", 1))
	if _, err := Open(t.Context(), "sop:"+f.folder(t), Options{}); err == nil || !strings.Contains(err.Error(), "Ebay_test.txt line 3") {
		t.Errorf("bad line: %v", err)
	}
}

// inShopFiles holds the list of In-shop Clothes Retrieval.
func inShopFiles(train, query, gallery []int) files {
	var b strings.Builder
	id, total := 0, 0
	line := func(id, k int, status string) {
		total++
		fmt.Fprintf(&b, "img/WOMEN/Dresses/id_%08d/%02d_%s.jpg  id_%08d  %s\n", id, k, status, id, status)
	}
	for _, n := range train {
		id++
		for k := range n {
			line(id, k, "train")
		}
	}
	for i := range query {
		id++
		for k := range query[i] {
			line(id, k, "query")
		}
		for k := range gallery[i] {
			line(id, k, "gallery")
		}
	}
	return files{"Eval/list_eval_partition.txt": []byte(fmt.Sprintf("%d\nimage_name item_id evaluation_status\n%s", total, b.String()))}
}

func TestInShopHasQueriesAndGallery(t *testing.T) {
	for _, base := range []string{"", "Img/"} {
		f := inShopFiles([]int{2, 3}, []int{1, 2}, []int{2, 1})
		f[base+"img/WOMEN/Dresses/id_00000001/00_train.jpg"] = imagetest.EncodeJPEG(t, smooth(5, 5, 1))
		set := mustOpen(t, "inshop:"+f.folder(t))
		checkCounts(t, set, Published{TrainImages: 5, TestImages: 6, TrainClasses: 2, TestClasses: 2})
		if c := set.counts(); c.Query != 3 || c.Gallery != 3 {
			t.Errorf("%d queries, %d in the gallery", c.Query, c.Gallery)
		}
		if _, err := set.Load(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
	f := inShopFiles([]int{2}, []int{1}, []int{1})
	list := "Eval/list_eval_partition.txt"
	f[list] = []byte(strings.Replace(string(f[list]), "  gallery", "  galery", 1))
	if _, err := Open(t.Context(), "inshop:"+f.folder(t), Options{}); err == nil || !strings.Contains(err.Error(), `line 6: status "galery"`) {
		t.Errorf("bad status: %v", err)
	}
}
