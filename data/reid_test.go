package data

import (
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
			"VeRi/image_query/0002_c002_00030600_0.jpg", "VeRi/image_test/0002_c002_00030600_0.jpg", "VeRi/image_test/0002_c003_00030640_0.jpg", "VeRi/image_train/0001_c001_00016450_0.jpg", "VeRi/name_query.txt",
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
