package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/table"
)

// SuperClasses are super-classes of a set's classes from a table of their own.
type SuperClasses struct {
	file    string
	classes []string // in the order of the file
	of      map[string]string
	line    map[string]int
}

// ReadSuperClasses reads a table with the columns class and super: a class and its
// super-class in each row. Other columns are passed over.
func ReadSuperClasses(file string) (*SuperClasses, error) {
	text, err := table.ReadFile(file)
	if err != nil {
		return nil, err
	}
	need := []string{"class", "super"}
	t, err := table.Read(text, table.Options{Need: need})
	if err != nil && !errors.Is(err, table.ErrEmpty) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err != nil || len(t.Rows) == 0 {
		return nil, fmt.Errorf("%s: no rows; wanted is a line class,super and one line for each class", file)
	}
	var at [2]int
	for i, n := range need {
		if at[i] = slices.IndexFunc(t.Names, func(c string) bool { return strings.EqualFold(c, n) }); at[i] < 0 {
			return nil, fmt.Errorf("%s line %d: %q; the first line must be class,super", file, t.HeaderLine, strings.Join(t.Names, ","))
		}
	}
	s := &SuperClasses{file: file, of: map[string]string{}, line: map[string]int{}}
	for i, row := range t.Rows {
		if err := s.add(row[at[0]], row[at[1]], t.Lines[i]); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", file, t.Lines[i], err)
		}
	}
	return s, nil
}

func (s *SuperClasses) add(class, super string, line int) error {
	switch {
	case class == "":
		return errors.New("the class is empty")
	case super == "":
		return fmt.Errorf("class %q has an empty super-class", class)
	case s.line[class] > 0:
		return fmt.Errorf("class %q is already in line %d", class, s.line[class])
	}
	s.classes = append(s.classes, class)
	s.of[class], s.line[class] = super, line
	return nil
}

// Give returns part with these super-classes. The table must name every class
// of part, and none that whole does not have.
func (s *SuperClasses) Give(whole, part *Set) (*Set, error) {
	if err := s.check(whole.Name, whole.Classes, part.Name, part.Classes); err != nil {
		return nil, err
	}
	items := make([]int, len(part.Items))
	for i := range items {
		items[i] = i
	}
	set := part.Select(part.Name, items)
	set.superClasses(func(class string) string { return s.of[class] }, func(it Item) string { return s.of[set.Classes[it.Label]] })
	return set, nil
}

// Of lists the super-class of each of classes, those of a set of rows called name. The
// table must name every one, and no other.
func (s *SuperClasses) Of(name string, classes []string) ([]string, error) {
	if err := s.check(name, classes, name, classes); err != nil {
		return nil, err
	}
	of := make([]string, len(classes))
	for i, c := range classes {
		of[i] = s.of[c]
	}
	return of, nil
}

func (s *SuperClasses) check(name string, classes []string, partName string, part []string) error {
	known := make(map[string]bool, len(classes))
	for _, c := range classes {
		known[c] = true
	}
	for _, c := range s.classes {
		if !known[c] {
			return fmt.Errorf("%s line %d: class %q is unknown; %s has %s", s.file, s.line[c], c, name, few(classes))
		}
	}
	var missing []string
	for _, c := range part {
		if s.line[c] == 0 {
			missing = append(missing, c)
		}
	}
	if missing != nil {
		return fmt.Errorf("%s: %d classes of %s have no line: %s", s.file, len(missing), partName, few(missing))
	}
	return nil
}

// few quotes the first of a list.
func few(names []string) string {
	const most = 5
	text := fmt.Sprintf("%q", names[:min(most, len(names))])
	text = strings.ReplaceAll(strings.Trim(text, "[]"), `" "`, `", "`)
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// SuperClass returns the name of the super-class of a label, or nil if the set
// has none.
func (s *Set) SuperClass() func(label int) string {
	if s.Super == nil {
		return nil
	}
	return func(label int) string {
		if name := s.SuperNames[s.Super[label]]; name != "" {
			return name
		}
		return "(none)"
	}
}
