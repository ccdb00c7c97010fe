package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Blanks is the separator of tables whose cells stand apart by blanks and tabs,
// however many.
const Blanks = ' '

// separators are those that are looked for, the likelier first where several fit.
var separators = [...]rune{'\t', ';', ',', '|'}

// record is a line of cells, or several where a quoted cell has line ends.
type record struct {
	cells []string
	line  int
}

// divide splits a text into records, without blanks around cells and without empty
// lines. It stops after max records, or at the end of the text if max is 0.
func divide(text string, separator rune, max int) ([]record, error) {
	if separator == Blanks {
		return divideByBlanks(text, max)
	}
	s := splitter{rest: text, line: 1, separator: string(separator)}
	var records []record
	for s.rest != "" && (max == 0 || len(records) < max) {
		r, err := s.record()
		if err != nil {
			return records, err
		}
		if slices.ContainsFunc(r.cells, func(c string) bool { return c != "" }) {
			records = append(records, r)
		}
	}
	return records, nil
}

func divideByBlanks(text string, max int) ([]record, error) {
	var records []record
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		if max > 0 && len(records) == max {
			break
		}
		cells, err := fields(line, unicode.IsSpace, `"`)
		if err != nil {
			return records, fmt.Errorf("line %d: %w", number, err)
		}
		if len(cells) > 0 {
			records = append(records, record{cells, number})
		}
	}
	return records, nil
}

// fields splits a line at runs of separators. A cell that begins with one of the
// marks ends with it and may hold separators.
func fields(line string, separator func(rune) bool, marks string) ([]string, error) {
	var cells []string
	for {
		line = strings.TrimLeftFunc(line, separator)
		if line == "" {
			return cells, nil
		}
		if mark := line[:1]; strings.Contains(marks, mark) {
			cell, rest, closed := strings.Cut(line[1:], mark)
			if !closed {
				return cells, errors.New("a quotation mark is opened and not closed")
			}
			cells, line = append(cells, strings.TrimSpace(cell)), rest
			continue
		}
		end := strings.IndexFunc(line, separator)
		if end < 0 {
			end = len(line)
		}
		cells, line = append(cells, line[:end]), line[end:]
	}
}

// sample is how much of a text tells its separator.
const (
	sampleBytes   = 1 << 16
	sampleRecords = 100
)

// findSeparator looks for the one by which all lines have the same number of cells,
// two or more.
func findSeparator(text string) rune {
	if len(text) > sampleBytes {
		text = text[:sampleBytes]
		if end := strings.LastIndexByte(text, '\n'); end > 0 {
			text = text[:end]
		}
	}
	best, fewest := rune(0), 0
	widest, most := ',', 1
	for _, s := range separators {
		records, _ := divide(text, s, sampleRecords)
		if len(records) == 0 {
			continue
		}
		if n := len(records[0].cells); n > most || n == most && n > 1 && s == ',' {
			widest, most = s, n
		}
		if !uniform(records) {
			continue
		}
		if n := foreignCells(records); best == 0 || n < fewest {
			best, fewest = s, n
		}
	}
	if best == 0 {
		best = widest
	}
	if most == 1 || best == '\t' {
		records, _ := divideByBlanks(text, sampleRecords)
		if uniform(records) && (most == 1 || listsOfNumbers(text)) {
			return Blanks
		}
		if most == 1 && mostlyWide(records) {
			return Blanks
		}
	}
	return best
}

// uniform reports whether all records have the same number of cells, two or more,
// but for empty ones at the end. The first may lack one: it is the header of a
// table whose rows have names.
func uniform(records []record) bool {
	width := 0
	for _, r := range records {
		width = max(width, filled(r.cells))
	}
	for i, r := range records {
		unnamed := i == 0 && len(records) > 2 && width > 2 && len(r.cells) == width-1
		if len(r.cells) < width && !unnamed {
			return false
		}
	}
	return width > 1
}

// filled is the number of cells without the empty ones at the end.
func filled(cells []string) int {
	n := len(cells)
	for n > 0 && cells[n-1] == "" {
		n--
	}
	return n
}

// foreignCells counts the cells that hold another separator and are no numbers: a
// sign that the separator is the other one.
func foreignCells(records []record) int {
	count := 0
	for _, r := range records {
		for _, c := range r.cells {
			if strings.ContainsAny(c, "\t;,|") && KindOf(c) == Word {
				count++
			}
		}
	}
	return count
}

// listsOfNumbers reports whether the first cell by tabs is a list of numbers with
// blanks between, in all lines but the first.
func listsOfNumbers(text string) bool {
	records, _ := divide(text, '\t', sampleRecords)
	for _, r := range records[min(1, len(records)):] {
		list := strings.Fields(r.cells[0])
		if len(list) < 2 || slices.ContainsFunc(list, func(c string) bool { k := KindOf(c); return k != Gap && !k.Numeric() }) {
			return false
		}
	}
	return len(records) > 1
}

// mostlyWide reports whether most records have two cells or more.
func mostlyWide(records []record) bool {
	wide := 0
	for _, r := range records {
		if len(r.cells) > 1 {
			wide++
		}
	}
	return 2*wide > len(records)
}
