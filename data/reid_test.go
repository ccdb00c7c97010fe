package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReIdentificationSets(t *testing.T) {
	type row struct {
		class string
		part  Part
		role  Role
		group int
	}
	for kind, c := range map[string]struct {
		files []string
		want  []row
		junk  bool
	}{
		"market1501": {[]string{
			"bounding_box_test/-1_c1s1_000401_03.jpg", "bounding_box_test/0000_c1s1_000151_01.jpg", "bounding_box_test/0003_c2s1_000476_02.jpg", "bounding_box_test/Thumbs.db",
			"bounding_box_train/0002_c1s1_000451_03.jpg", "query/0003_c6s3_077467_00.jpg", "gt_bbox/0003_c1s1_000476_00.jpg", "readme.txt",
		}, []row{{"0000", TestPart, GalleryRole, 1}, {"0003", TestPart, GalleryRole, 2}, {"0002", TrainPart, AnyRole, 1}, {"0003", TestPart, QueryRole, 3}}, true},
		"veri": {[]string{
			"VeRi/image_query/0002_c002_00030600_0.jpg", "VeRi/image_test/0002_c002_00030600_0.jpg", "VeRi/image_test/0002_c003_00030640_0.jpg", "VeRi/image_train/0001_c001_00016450_0.jpg",
		}, []row{{"0002", TestPart, QueryRole, 1}, {"0002", TestPart, GalleryRole, 1}, {"0002", TestPart, GalleryRole, 2}, {"0001", TrainPart, AnyRole, 3}}, false},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			f = filepath.Join(dir, filepath.FromSlash(f))
			if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		set, err := Open(t.Context(), kind+":"+dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []row
		for _, it := range set.Items {
			got = append(got, row{set.Classes[it.Label], it.Part, it.Role, it.Group})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", kind, got, c.want)
		}
		if said := slices.ContainsFunc(set.Notices, func(n string) bool {
			return strings.Contains(n, "left out one image with identity -1") || strings.Contains(n, "left out 1 image with identity -1")
		}); said != c.junk {
			t.Errorf("%s: %q", kind, set.Notices)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(filepath.ToSlash(filepath.Dir(c.files[0]))), "robin.jpg"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), kind+":"+dir, Options{}); err == nil || !strings.Contains(err.Error(), "robin.jpg: the name of the file tells no identity and camera") {
			t.Errorf("%s: %v", kind, err)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestListsOfVeRi: the lists choose images, the tables tell what names do not.
func TestListsOfVeRi(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, "VeRi", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	xml := func(root string, items ...string) string {
		text := "<?xml version=\"1.0\" encoding=\"gb2312\"?>\n<" + root + " Version=\"1.0\">\n<Items number=\"1\">\n"
		for i := 0; i < len(items); i += 3 {
			text += "<Item imageName=\"" + items[i] + "\" vehicleID=\"" + items[i+1] + "\" cameraID=\"" + items[i+2] + "\" colorID=\"1\" typeID=\"4\" plate=\"\xbe\xa9\"/>\n"
		}
		return text + "</Items>\n</" + root + ">\n"
	}
	for _, f := range []string{"image_train/0001_c001_00016450_0.jpg", "image_train/0001_c002_00016451_0.jpg", "image_train/0009_c002_00016459_0.jpg", "image_query/0002_c002_00030600_0.jpg", "image_test/0002_c003_00030640_0.jpg", "image_test/000001.jpg"} {
		write(f, "x")
	}
	write("name_train.txt", "0001_c001_00016450_0.jpg\r\n0001_c002_00016451_0.jpg\r\n0003_c002_00016451_0.jpg\r\n")
	write("name_query.txt", "0002_c002_00030600_0.jpg\n")
	write("train_label.xml", xml("TrainingImages", "0001_c001_00016450_0.jpg", "0001", "c001"))
	write("test_label.xml", xml("TestImages", "0002_c003_00030640_0.jpg", "0002", "c003", "000001.jpg", "0002", "c017"))
	set, err := Open(t.Context(), "veri:"+dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var got []string
	for _, it := range set.Items {
		got = append(got, fmt.Sprintf("%s %v %v %d", set.Classes[it.Label], it.Part, it.Role, it.Group))
	}
	if want := []string{"0002 test query 1", "0002 test gallery 2", "0002 test gallery 3", "0001 train  4", "0001 train  1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"name_train.txt names 1 image that image_train does not have, such as 0003_c002_00016451_0.jpg", "left out 1 image of image_train that name_train.txt does not name"}; !slices.Equal(set.Remarks(), want) {
		t.Errorf("%q, want %q", set.Remarks(), want)
	}
	write("name_query.txt", "0003_c002_00030600_0.jpg\n")
	if _, err := Open(t.Context(), "veri:"+dir, Options{}); err == nil || !strings.Contains(err.Error(), "name_query.txt names none of the images of image_query") {
		t.Errorf("%v", err)
	}
	write("name_query.txt", "0002_c002_00030600_0.jpg\n")
	for says, text := range map[string]string{
		"train_label.xml says identity 0002 by camera 001, the name of the file another": xml("TrainingImages", "0001_c001_00016450_0.jpg", "0002", "c001"),
		"item 1 of 1 lacks imageName, vehicleID or cameraID":                             xml("TrainingImages", "0001_c001_00016450_0.jpg", "", "c001"),
		"there is no element Item in Items":                                              xml("TrainingImages"),
		"train_label.xml: XML syntax error":                                              "<TrainingImages><Items>",
		`the encoding "klingon" is not known`:                                            strings.Replace(xml("TrainingImages"), "gb2312", "klingon", 1),
	} {
		write("train_label.xml", text)
		if _, err := Open(t.Context(), "veri:"+dir, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
