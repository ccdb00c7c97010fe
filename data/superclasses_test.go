package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableOfSuperClassesStandsInPlaceOfTheSetsOwn(t *testing.T) {
	whole := &Set{Name: "whole", Classes: []string{"cat", "dog", "oak"}, Items: []Item{{Label: 0}, {Label: 1}, {Label: 2}, {Label: 2}}}
	part := whole.Select("part", []int{1, 2, 3})
	for name, c := range map[string]struct{ text, says string }{
		"right":              {"class,super\ndog,animals\noak,plants\ncat,animals\n", ""},
		"of the part only":   {"\ufeffclass,super\r\ndog, animals\r\noak,plants\r\n", ""},
		"without header":     {"dog,animals\noak,plants\n", "line 1: \"dog,animals\"; the first line must be class,super"},
		"unknown class":      {"class,super\ndog,animals\nelm,plants\n", "line 3: class \"elm\" is unknown; whole has \"cat\", \"dog\", \"oak\""},
		"missing class":      {"class,super\ncat,animals\ndog,animals\n", "1 classes of part have no line: \"oak\""},
		"class twice":        {"class,super\ndog,animals\ndog,plants\n", "line 3: class \"dog\" is already in line 2"},
		"three fields":       {"class,super\ndog,animals,x\n", "line 2 has 3 cells, the first has 2"},
		"empty super-class":  {"class,super\ndog,\n", "line 2: class \"dog\" has an empty super-class"},
		"no rows":            {"class,super\n", "no rows"},
		"a quote left open ": {"class,super\n\"dog,animals\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "supers.csv")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			var set *Set
			table, err := ReadSuperClasses(file)
			if err == nil {
				set, err = table.Give(whole, part)
			}
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) {
					t.Fatalf("error %v, want one with %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if of := set.SuperClass(); of(0) != "animals" || of(1) != "plants" || part.SuperClass() != nil {
				t.Errorf("super-classes %q %v", set.SuperNames, set.Super)
			}
		})
	}
}
