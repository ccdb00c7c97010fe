package data

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFoldersWithClassesOfTheSameNamesAreSaid(t *testing.T) {
	under := func(names string, parents ...string) (classes []string) {
		for _, p := range parents {
			for _, n := range strings.Fields(names) {
				classes = append(classes, p+"/"+n)
			}
		}
		return classes
	}
	var alphabets []string
	for i := range 30 {
		alphabets = append(alphabets, fmt.Sprint("alphabet", i))
	}
	for name, c := range map[string]struct {
		classes []string
		says    string // the folders, or nothing
	}{
		"a part of an unknown name":   {under("ant bee cat dog", "test", "train", "unlabeled"), "folders test, train, unlabeled hold"},
		"persons who make gestures":   {under("fist palm wave", alphabets...), "folders alphabet0, alphabet1, alphabet2, alphabet3, alphabet4, ... (30) hold"},
		"letters and digits":          {under("a1 b2 c3", alphabets[:11]...), "folders alphabet0"},
		"rooms":                       {under("cup spoon", "home/kitchen", "office/kitchen"), "folders home/kitchen, office/kitchen hold"},
		"capital letters":             {append(under("Ant Bee", "seen"), under("ant bee", "unseen")...), "folders seen, unseen hold"},
		"other names in each":         {append(under("ant bee", "insects"), under("cat dog", "mammals")...), ""},
		"one name that is in both":    {append(under("ant bee other", "insects"), under("cat dog other", "mammals")...), ""},
		"classes without folders":     {[]string{"ant", "bee"}, ""},
		"many folders, as alphabets":  {under("character01 character02", alphabets...), ""},
		"most names are in one alone": {append(under("a b c d e f", "x"), under("a b u v w", "y")...), ""},
	} {
		got := repeatedNames(c.classes)
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}

func TestCheckCallsFoldersOfTheSameClassesAProblem(t *testing.T) {
	r, err := Check(t.Context(), "folder:"+images(t, "seen/a/1.png", "seen/b/1.png", "new/a/2.png", "new/b/2.png").folder(t), CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || !slices.ContainsFunc(r.Problems, func(p string) bool {
		return strings.HasPrefix(p, "folders new, seen hold classes of the same names, as a: ")
	}) {
		t.Errorf("%q", r.Problems)
	}
}

func TestPartsInNamesOfClassesAreSaid(t *testing.T) {
	for name, c := range map[string]struct {
		classes []string
		says    string
	}{
		"behind":           {[]string{"ant_test", "ant_train", "bee_test", "bee_train", "cat_train"}, "as ant_test and ant_train: "},
		"before":           {[]string{"Test Ant", "Test Bee", "Train Ant", "Train Bee"}, "as Test Ant and Train Ant: "},
		"in one only":      {[]string{"ant", "ant_train", "bee", "cat", "dog"}, ""},
		"a word like that": {[]string{"train", "test", "bus", "test bench"}, ""},
		"no parts":         {[]string{"red ant", "black ant", "red bee", "black bee"}, ""},
		"numbers":          {[]string{"ant_train_1", "ant_train_2", "bee_train_1", "bee_train_2"}, ""},
	} {
		if got := partsInNames(c.classes); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
