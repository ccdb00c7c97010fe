package table

import (
	"fmt"
	"strings"
	"unicode"
)

// splitter takes records off a text as RFC 4180 has them, and unlike encoding/csv
// lets blanks stand around a quoted cell.
type splitter struct {
	rest      string
	line      int
	separator string
}

// record takes the next one off.
func (s *splitter) record() (record, error) {
	r := record{line: s.line}
	for {
		s.skipBlanks()
		cell, err := "", error(nil)
		if strings.HasPrefix(s.rest, `"`) {
			cell, err = s.quoted()
		} else {
			cell, err = s.bare()
		}
		if err != nil {
			return r, err
		}
		r.cells = append(r.cells, cell)
		if rest, more := strings.CutPrefix(s.rest, s.separator); more {
			s.rest = rest
			continue
		}
		if s.rest != "" { // at a line end
			s.rest = s.rest[1:]
			s.line++
		}
		return r, nil
	}
}

// skipBlanks takes the blanks before or after a cell off.
func (s *splitter) skipBlanks() {
	s.rest = strings.TrimLeftFunc(s.rest, func(c rune) bool { return unicode.IsSpace(c) && c != '\n' && string(c) != s.separator })
}

// bare takes a cell without quotation marks off.
func (s *splitter) bare() (string, error) {
	end := strings.IndexByte(s.rest, '\n')
	if end < 0 {
		end = len(s.rest)
	}
	if at := strings.Index(s.rest[:end], s.separator); at >= 0 {
		end = at
	}
	cell := s.rest[:end]
	s.rest = s.rest[end:]
	if strings.Contains(cell, `"`) {
		return "", fmt.Errorf(`line %d: a quotation mark inside a cell that does not begin with one: put the cell in quotation marks, and write the one inside twice ("")`, s.line)
	}
	return strings.TrimSpace(cell), nil
}

// quoted takes a cell that begins with a quotation mark off, with the blanks behind
// it.
func (s *splitter) quoted() (string, error) {
	line := s.line
	var cell strings.Builder
	for s.rest = s.rest[1:]; ; {
		part, rest, closed := strings.Cut(s.rest, `"`)
		cell.WriteString(part)
		s.line += strings.Count(part, "\n")
		s.rest = rest
		if !closed {
			return "", unclosed(line)
		}
		if !strings.HasPrefix(rest, `"`) {
			break
		}
		cell.WriteByte('"')
		s.rest = rest[1:]
	}
	s.skipBlanks()
	if s.rest != "" && s.rest[0] != '\n' && !strings.HasPrefix(s.rest, s.separator) {
		return "", unclosed(line)
	}
	return strings.TrimSpace(cell.String()), nil
}

func unclosed(line int) error {
	return fmt.Errorf(`line %d: the quotation mark that opens a cell is not closed before a separator or the end of the line; one inside a cell is written twice ("")`, line)
}
