package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/nearest"
)

// isARFF reports whether the first line that is not empty begins an ARFF file, as
// WEKA writes them.
func isARFF(lines []string) bool {
	for _, line := range lines {
		if line = strings.ToLower(strings.TrimSpace(line)); line != "" {
			return strings.HasPrefix(line, "@relation") || strings.HasPrefix(line, "@attribute")
		}
	}
	return false
}

// readARFF reads the head and the dense rows of an ARFF file.
func (t *Table) readARFF(lines []string) error {
	t.Separator = ','
	head := true
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "%") {
			continue
		}
		var err error
		switch word, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " "); {
		case !head:
			err = t.arffRow(line, i+1)
		case strings.EqualFold(word, "@relation"):
			t.HeaderLine = i + 1
		case strings.EqualFold(word, "@attribute"):
			err = t.attribute(strings.TrimSpace(rest))
		case strings.EqualFold(word, "@data"):
			head = false
		default:
			err = fmt.Errorf("%q in the head of an ARFF file: want @relation, @attribute or @data", word)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if len(t.Names) == 0 {
		return fmt.Errorf("an ARFF file without @attribute")
	}
	return nil
}

// attribute reads NAME TYPE.
func (t *Table) attribute(text string) error {
	name, kind := text, ""
	if text != "" && strings.Contains(`'"`, text[:1]) {
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 {
			return fmt.Errorf("the quotation mark before the name of an attribute is not closed")
		}
		name, kind = text[1:1+end], text[2+end:]
	} else if end := strings.IndexAny(text, " {"); end > 0 {
		name, kind = text[:end], text[end:]
	}
	kind = strings.TrimSpace(kind)
	declared, values := Undeclared, []string(nil)
	switch first, _, _ := strings.Cut(strings.ToLower(kind), " "); {
	case first == "numeric", first == "real", first == "integer":
		declared = Numbers
	case strings.HasPrefix(kind, "{"):
		var err error
		if values, err = nominal(kind); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
		declared = Categories
	case first == "string":
		declared = Categories
	case first == "date", first == "relational":
		// refused as what its cells are, unless the column is left out
	default:
		return fmt.Errorf("attribute %q has type %q: want numeric, real, integer, string or a list in braces", name, kind)
	}
	t.Names, t.Types, t.values = append(t.Names, name), append(t.Types, declared), append(t.values, values)
	return nil
}

// nominal reads the values that an attribute may have, {a, 'b c', ...}.
func nominal(kind string) ([]string, error) {
	end := strings.LastIndexByte(kind, '}')
	if end < 0 {
		return nil, fmt.Errorf("the list of its values, %s, has no closing brace", kind)
	}
	values, err := arffCells(kind[1:end])
	if err != nil {
		return nil, fmt.Errorf("the list of its values: %w", err)
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return nil, fmt.Errorf("the list of its values has %q twice", v)
		}
	}
	return values, nil
}

func (t *Table) arffRow(line string, number int) error {
	if strings.HasPrefix(line, "{") {
		return fmt.Errorf("a sparse row of an ARFF file, which is not read: convert it to dense rows, for example with WEKA's SparseToNonSparse")
	}
	cells, err := arffCells(line)
	if err != nil {
		return err
	}
	if n := len(t.Names); len(cells) == n+1 && strings.HasPrefix(cells[n], "{") { // the weight of the row
		return fmt.Errorf("a row with a weight, which is not read: leave %s out", cells[n])
	}
	if len(cells) != len(t.Names) {
		return fmt.Errorf("%d cells, there are %d attributes", len(cells), len(t.Names))
	}
	for j, cell := range cells {
		if values := t.values[j]; values != nil && cell != "?" && cell != "" && !slices.Contains(values, cell) {
			return fmt.Errorf("column %q: %q is none of the values that the file declares for it: %s%s", t.Names[j], cell, someOf(values), nearest.Hint(cell, values))
		}
	}
	t.Rows, t.Lines = append(t.Rows, cells), append(t.Lines, number)
	return nil
}

// someOf lists values, the first of many.
func someOf(values []string) string {
	const max = 12
	if len(values) > max {
		return fmt.Sprintf("%s, ... (%d in all)", strings.Join(values[:max], ", "), len(values))
	}
	return strings.Join(values, ", ")
}

// arffCells splits a row at commas outside quotation marks of either kind, in which
// a backslash stands before a mark.
func arffCells(line string) ([]string, error) {
	var cells []string
	var cell strings.Builder
	mark := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case mark != 0 && c == '\\' && i+1 < len(line):
			i++
			cell.WriteByte(line[i])
		case mark != 0 && c == mark:
			mark = 0
		case mark == 0 && (c == '\'' || c == '"') && strings.TrimSpace(cell.String()) == "":
			mark = c
			cell.Reset()
		case mark == 0 && (c == ',' || c == '\t'):
			cells = append(cells, strings.TrimSpace(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(c)
		}
	}
	if mark != 0 {
		return nil, fmt.Errorf("a quotation mark is opened and not closed")
	}
	return append(cells, strings.TrimSpace(cell.String())), nil
}
