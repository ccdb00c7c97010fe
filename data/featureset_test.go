package data

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/weights"
)

// writeArray writes numbers as a .npy file.
func writeArray(t *testing.T, path string, shape []int, x ...float32) string {
	t.Helper()
	a, err := weights.FromFloat32("x", shape, x)
	if err == nil {
		err = weights.WriteNPY(path, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRowsAreReadWithTheirLabels(t *testing.T) {
	dir := t.TempDir()
	x := writeArray(t, filepath.Join(dir, "x.npy"), []int{4, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
	y := writeArray(t, filepath.Join(dir, "y.npy"), []int{4}, 10, 2, 10, 2)
	set, err := Open(context.Background(), "features:"+JoinFeatures(x, y), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if set.Width() != 2 || !slices.Equal(set.Classes, []string{"2", "10"}) || !slices.Equal(set.Labels(), []int{1, 0, 1, 0}) {
		t.Errorf("rows of %d, classes %q, labels %v", set.Width(), set.Classes, set.Labels())
	}
	part := set.Select("part", []int{3, 0})
	loader, err := NewLoader(part, nil, LoaderOptions{Pixels: true})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range loader.All(context.Background(), 8) {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.Images, []float32{7, 8, 1, 2}) || b.Shape != [4]int{2, 2, 1, 1} {
			t.Errorf("a batch of %v, shape %v", b.Images, b.Shape)
		}
	}
	if _, err := set.Load(context.Background(), 0); err == nil || !strings.Contains(err.Error(), "it is a row of numbers, not an image") {
		t.Errorf("the picture of a row: %v", err)
	}
}

func TestATableDescribesRows(t *testing.T) {
	dir := t.TempDir()
	x := writeArray(t, filepath.Join(dir, "x.npy"), []int{4, 1}, 1, 2, 3, 4)
	table := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(table, []byte("path,label,split,category\na.jpg,wren,train,small\nb.jpg,owl,test,large\nc.jpg,wren,train,small\nd.jpg,owl,test,large\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := Open(context.Background(), "features:"+JoinFeatures(x, table), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	train, test, err := Split(set, SplitSpec{Kind: PublishedSplit})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(train.Classes, []string{"wren"}) || !slices.Equal(test.Classes, []string{"owl"}) || test.Items[1].Path != "d.jpg" || !slices.Equal(set.SuperNames, []string{"large", "small"}) {
		t.Errorf("training classes %q, test classes %q, paths %q, super-classes %q", train.Classes, test.Classes, test.Items[1].Path, set.SuperNames)
	}
}

func TestRowsThatCannotBeUsedAreRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	x := writeArray(t, at("x.npy"), []int{2, 2}, 1, 2, float32(math.NaN()), 4)
	writeArray(t, at("short.npy"), []int{1}, 1)
	writeArray(t, at("half.npy"), []int{2}, 1, 1.5)
	writeArray(t, at("flat.npy"), []int{4}, 1, 2, 3, 4)
	for path, says := range map[string]string{
		x:                                     "holds no labels: name a file of them",
		JoinFeatures(x, at("short.npy")):      "1 labels for 2 rows",
		JoinFeatures(x, at("half.npy")):       "label of row 1 is no whole number",
		JoinFeatures(x, at("gone.npy")):       "no such file",
		JoinFeatures(at("flat.npy"), x):       "flat.npy",
		JoinFeatures(at("gone.npy"), "y.npy"): "no such file",
	} {
		if _, err := Open(context.Background(), "features:"+path, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", path, err, says)
		}
	}
	set, err := OpenRows([]string{x})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	loader, err := NewLoader(set, nil, LoaderOptions{MaxBad: 1})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for b, err := range loader.All(context.Background(), 2) {
		if err != nil {
			t.Fatal(err)
		}
		rows += len(b.Items)
	}
	if bad := loader.Bad(); rows != 1 || len(bad) != 1 || !strings.Contains(bad[0].Reason, "number 0 of the row is NaN") {
		t.Errorf("%d rows are read, left out are %v", rows, bad)
	}
}

func TestRowsOfAProgramsOwn(t *testing.T) {
	set, err := NewRows("mine", Rows{Width: 1, Labels: []string{"a", "b"}, Row: func(dst []float32, i int) error {
		dst[0] = float32(i)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if set.Width() != 1 || set.Items[1].Path != "1" || len(set.Fingerprint()) != 64 {
		t.Errorf("width %d, path %q", set.Width(), set.Items[1].Path)
	}
	for says, of := range map[string]Rows{"Labels is empty": {}, "Width is 0": {Labels: []string{"a"}}, "Row is nil": {Labels: []string{"a"}, Width: 1}} {
		if _, err := NewRows("mine", of); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// TestGroupsOfRows: a class can be validated and tested on where a query finds an image
// of another group.
func TestGroupsOfRows(t *testing.T) {
	dir := t.TempDir()
	x := writeArray(t, filepath.Join(dir, "x.npy"), []int{8, 1}, 1, 2, 3, 4, 5, 6, 7, 8)
	table := filepath.Join(dir, "rows.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func() (*Set, error) {
		return Open(context.Background(), "features:"+JoinFeatures(x, table), Options{})
	}
	write("label,group,split,is_query,is_gallery\na,front,test,1,0\na,back,test,0,1\na,front,test,0,1\nb,front,test,1,0\nb,front,test,0,1\nc,,test,1,1\nd,back,test,0,1\nd,front,test,0,1\n")
	set, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var groups []int
	var roles []Role
	for _, it := range set.Items {
		groups, roles = append(groups, it.Group), append(roles, it.Role)
	}
	q, g := QueryRole, GalleryRole
	if !slices.Equal(groups, []int{1, 2, 1, 1, 1, 0, 2, 1}) || !slices.Equal(roles, []Role{q, g, g, q, g, AnyRole, g, g}) {
		t.Errorf("groups %v, roles %v", groups, roles)
	}
	retrievable := set.retrievable()
	for class, want := range []bool{true, false, false, false} {
		if got := retrievable(set.ByClass()[class]); got != want {
			t.Errorf("class %s is retrievable: %v", set.Classes[class], got)
		}
	}
	if err := Testable(set.Select("one camera", []int{3, 4, 5})); err == nil || !strings.Contains(err.Error(), "none of the 2 test classes has a query and an image to be found in two groups") {
		t.Errorf("classes of one group each: %v", err)
	}
	write("label,group\na,front\na,back\nb,front\nb,front\nc,back\nc,front\nd,1\nd,1\n")
	set, err = open()
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	_, validation, err := Validation(set, .5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(validation.Classes, []string{"a", "c"}) {
		t.Errorf("validation classes %q, want those of two groups", validation.Classes)
	}
	write("label,group,is_query\na,1,maybe\na,1,0\na,1,0\na,1,0\na,1,0\na,1,0\na,1,0\na,1,0\n")
	if _, err := open(); err == nil || !strings.Contains(err.Error(), `row 0: is_query is "maybe", want true or false`) {
		t.Errorf("%v", err)
	}
}
