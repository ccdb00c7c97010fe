package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/source"
)

func checkDisjoint(t *testing.T, whole, a, b *Set) {
	t.Helper()
	if len(a.Items)+len(b.Items) != len(whole.Items) || len(a.Classes)+len(b.Classes) != len(whole.Classes) {
		t.Errorf("%d + %d images, %d + %d classes", len(a.Items), len(b.Items), len(a.Classes), len(b.Classes))
	}
	for _, c := range a.Classes {
		if slices.Contains(b.Classes, c) {
			t.Errorf("class %q is in both parts", c)
		}
	}
	for _, part := range []*Set{a, b} {
		for label, items := range part.ByClass() {
			if len(items) == 0 {
				t.Errorf("%s: class %d has no images", part.Name, label)
			}
			for _, i := range items {
				if want := strings.Split(part.Items[i].Path, "/")[0]; part.Classes[label] != want {
					t.Errorf("%s has label %d, class %q", part.Items[i].Path, label, part.Classes[label])
				}
			}
		}
	}
}

func TestSplitsKeepClassesApart(t *testing.T) {
	names := []string{"c1", "c2", "c3", "c10", "c11", "c20", "c21"}
	set := mustOpen(t, "folder:"+classes(t, names, 1, 2, 3).folder(t))
	list := filepath.Join(t.TempDir(), "train.txt")
	if err := os.WriteFile(list, []byte("\ufeff# training\r\nc20\r\n\r\n c2 \r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"half": {"c1", "c2", "c3", "c10"}, "0.5": {"c1", "c2", "c3", "c10"}, "first:0.3": {"c1", "c2"},
		"2": {"c1", "c2"}, "first:6": {"c1", "c2", "c3", "c10", "c11", "c20"}, list: {"c2", "c20"},
	} {
		spec, err := ParseSplit(text, 1)
		if err != nil {
			t.Fatal(err)
		}
		train, test, err := Split(set, spec)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(train.Classes, want) {
			t.Errorf("%s: training classes %q, want %q", text, train.Classes, want)
		}
		checkDisjoint(t, set, train, test)
	}
}

func TestRandomSplitDependsOnItsSeedOnly(t *testing.T) {
	set := mustOpen(t, "glyphs")
	draw := func(text string, seed uint64) []string {
		spec, err := ParseSplit(text, seed)
		if err != nil {
			t.Fatal(err)
		}
		train, _, err := Split(set, spec)
		if err != nil {
			t.Fatal(err)
		}
		return train.Classes
	}
	a := draw("random:0.5", 1)
	if !slices.Equal(a, draw("random:333", 1)) || slices.Equal(a, draw("random:0.5", 2)) || len(a) != 333 {
		t.Error("the draw is not a function of the seed")
	}
	if slices.Equal(a, draw("half", 1)) {
		t.Error("random is the first half")
	}
}

func TestWrongSplitsAreRefused(t *testing.T) {
	set := mustOpen(t, "folder:"+classes(t, []string{"a", "b", "c"}, 1).folder(t))
	for text, want := range map[string]string{
		"": "allowed are auto", "0": "at least 1", "1.5": "between 0 and 1", "-0.5": "between 0 and 1", "nan": "between 0 and 1",
		"first:x": "neither a fraction", "random:": "neither a fraction", "no/such/file": "no such file", "thirds": "allowed are auto",
		"3": "it must be 1 to 2", "0.1": "it must be 1 to 2", "published": "without a split",
	} {
		spec, err := ParseSplit(text, 0)
		if err == nil {
			_, _, err = Split(set, spec)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"a\nx\n": "line 2", "a\na\n": "listed twice", "a\nb\nc\n": "no classes for testing", "# none\n": "no classes for training",
	} {
		list := filepath.Join(t.TempDir(), "train.txt")
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Split(set, SplitSpec{Kind: ListedClasses, File: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("list %q: error %v, want one with %q", text, err, want)
		}
	}
	one := mustOpen(t, "folder:"+classes(t, []string{"a"}, 3).folder(t))
	if _, _, err := Split(one, FirstHalf()); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one class: %v", err)
	}
}

func TestPublishedSplitMustKeepClassesApart(t *testing.T) {
	set := &Set{Name: "x", Classes: []string{"a", "b"}, store: fileStore{files: source.Folder{Root: "."}},
		Items: []Item{{Path: "a/1", Part: TrainPart}, {Path: "b/1", Label: 1, Part: TestPart}}}
	train, test, err := Split(set, SplitSpec{Kind: PublishedSplit})
	if err != nil {
		t.Fatal(err)
	}
	checkDisjoint(t, set, train, test)
	set.Items = append(set.Items, Item{Path: "a/2", Part: TestPart})
	if _, _, err := Split(set, SplitSpec{Kind: PublishedSplit}); err == nil || !strings.Contains(err.Error(), `class "a" is both`) {
		t.Errorf("class in both parts: %v", err)
	}
}

func TestValidationIsTakenFromClassesThatCanBeRetrieved(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	set := mustOpen(t, "folder:"+classes(t, names, 1, 3).folder(t)) // a, c, e have one image
	fit, val, err := Validation(set, 0.4, 7)
	if err != nil {
		t.Fatal(err)
	}
	checkDisjoint(t, set, fit, val)
	if len(val.Classes) != 2 {
		t.Errorf("validation classes %q", val.Classes)
	}
	for _, items := range val.ByClass() {
		if len(items) < 2 {
			t.Error("a validation class has a single image")
		}
	}
	_, again, err := Validation(set, 0.4, 7)
	if err != nil || !slices.Equal(again.Classes, val.Classes) {
		t.Errorf("second draw %q, %v", again.Classes, err)
	}
	for _, f := range []float64{0, 1, -1} {
		if _, _, err := Validation(set, f, 7); err == nil {
			t.Errorf("fraction %g is accepted", f)
		}
	}
	singles := mustOpen(t, "folder:"+classes(t, names, 1).folder(t))
	if _, _, err := Validation(singles, 0.4, 7); !errors.Is(err, ErrTooFewClasses) {
		t.Errorf("classes of one image: %v", err)
	}
	// Two classes at least, on both sides, however small the fraction.
	if _, val, err := Validation(set, 0.01, 7); err != nil || len(val.Classes) != 2 {
		t.Errorf("a hundredth: %v, %v", val, err)
	}
	three := mustOpen(t, "folder:"+classes(t, names[:3], 3).folder(t))
	if _, _, err := Validation(three, 0.4, 7); !errors.Is(err, ErrTooFewClasses) {
		t.Errorf("three classes: %v", err)
	}
}
