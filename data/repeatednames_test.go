package data

import (
	"fmt"
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
		"parts in another language":   {under("ant bee", "teste", "treino"), "folders teste, treino hold"},
		"folds":                       {under("ant bee cat", "fold1", "fold2"), "folders fold1, fold2 hold"},
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
