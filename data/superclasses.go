package data

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// SuperClasses are super-classes of a set's classes from a table of their own.
type SuperClasses struct {
	file    string
	classes []string // in the order of the file
	of      map[string]string
	line    map[string]int
}

// ReadSuperClasses reads a CSV file whose first line is "class,super" and whose
// others name a class and its super-class.
func ReadSuperClasses(file string) (*SuperClasses, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.FieldsPerRecord = -1
	s := &SuperClasses{file: file, of: map[string]string{}, line: map[string]int{}}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if first {
			if !slices.Equal(row, []string{"class", "super"}) {
				return nil, fmt.Errorf("%s line %d: %q; the first line must be class,super", file, line, strings.Join(row, ","))
			}
			continue
		}
		if err := s.add(row, line); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", file, line, err)
		}
	}
	if len(s.classes) == 0 {
		return nil, fmt.Errorf("%s: no rows; wanted is a line class,super and one line for each class", file)
	}
	return s, nil
}

func (s *SuperClasses) add(row []string, line int) error {
	switch {
	case len(row) != 2:
		return fmt.Errorf("%d fields, want two: class and super", len(row))
	case row[0] == "":
		return errors.New("the class is empty")
	case row[1] == "":
		return fmt.Errorf("class %q has an empty super-class", row[0])
	case s.line[row[0]] > 0:
		return fmt.Errorf("class %q is already in line %d", row[0], s.line[row[0]])
	}
	s.classes = append(s.classes, row[0])
	s.of[row[0]], s.line[row[0]] = row[1], line
	return nil
}

// Give returns part with these super-classes. The table must name every class
// of part, and none that whole does not have.
func (s *SuperClasses) Give(whole, part *Set) (*Set, error) {
	known := make(map[string]bool, len(whole.Classes))
	for _, c := range whole.Classes {
		known[c] = true
	}
	for _, c := range s.classes {
		if !known[c] {
			return nil, fmt.Errorf("%s line %d: class %q is unknown; %s has %s", s.file, s.line[c], c, whole.Name, few(whole.Classes))
		}
	}
	var missing []string
	for _, c := range part.Classes {
		if s.line[c] == 0 {
			missing = append(missing, c)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%s: %d classes of %s have no line: %s", s.file, len(missing), part.Name, few(missing))
	}
	items := make([]int, len(part.Items))
	for i := range items {
		items[i] = i
	}
	set := part.Select(part.Name, items)
	set.superClasses(func(class string) string { return s.of[class] }, func(it Item) string { return s.of[set.Classes[it.Label]] })
	return set, nil
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
