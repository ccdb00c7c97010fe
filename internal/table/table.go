package table

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/plural"
)

// Table holds the cells of a text, without blanks around them. All rows have as
// many cells as there are columns.
type Table struct {
	Names      []string // of the columns, "" where one has none; nil without header
	HeaderLine int
	Rows       [][]string
	Lines      []int // of each row, from 1
	Separator  rune
	Latin      bool       // the text was not UTF-8 but Windows-1252
	Types      []Type     // what an ARFF file declares its columns as; nil of others
	Notes      []string   // what a reader should know of how the text was understood
	values     [][]string // that an ARFF file declares for each column; nil where it does not
}

// Type is what a column is declared as.
type Type uint8

// The types of columns.
const (
	Undeclared Type = iota
	Numbers
	Categories
)

// Header says whether the first line names the columns.
type Header uint8

// What the first line is.
const (
	Auto Header = iota
	WithHeader
	NoHeader
)

// Options say how a table is read. The zero value finds everything out.
type Options struct {
	Separator rune // 0 for the one that fits; Blanks for runs of blanks
	Header    Header
	// Need names the columns that the header must have, in lower case. Names in the
	// table may have capitals.
	Need []string
}

// ErrEmpty says that a text has no line of a table.
var ErrEmpty = errors.New("empty")

// Read decodes a text and divides it into cells. Errors begin with the line, where
// there is one.
func Read(b []byte, opt Options) (*Table, error) {
	text, latin, err := Text(b)
	if err != nil {
		return nil, err
	}
	t := &Table{Separator: opt.Separator}
	if t.Latin = latin; latin {
		t.Notes = append(t.Notes, "the text is not UTF-8; it is read as Windows-1252 (Latin-1)")
	}
	lines := strings.Split(text, "\n")
	if m := separatorLine.FindStringSubmatch(lines[0]); m != nil {
		lines[0] = ""
		if t.Separator == 0 {
			t.Separator = []rune(m[1])[0]
		}
	}
	comments := preamble(lines)
	if isARFF(lines) {
		return t, t.readARFF(lines)
	}
	records, err := t.records(lines, comments, opt)
	if err != nil {
		return nil, err
	}
	switch {
	case len(records) > 0:
		return t, t.arrange(records, opt)
	case len(comments) > 0:
		return nil, errors.New("all lines begin with # or %, as comments do")
	}
	return nil, ErrEmpty
}

// records divides the lines, of which the comments before the first row are left
// out already.
func (t *Table) records(lines []string, comments map[int]string, opt Options) ([]record, error) {
	body := strings.Join(lines, "\n")
	if t.Separator == 0 {
		t.Separator = separatorOf(body, comments, opt.Need)
	}
	if strings.ContainsRune("\"\r\n\ufffd", t.Separator) {
		return nil, fmt.Errorf("%q cannot separate cells", t.Separator)
	}
	first, err := divide(body, t.Separator, 1)
	if len(first) == 0 {
		return nil, err
	}
	restore(lines, comments, first[0], t.Separator, opt.Need)
	if n := dropComments(lines[first[0].line-1:], t.Separator, len(first[0].cells)); n > 0 {
		t.Notes = append(t.Notes, commentNote(n))
	}
	return divide(strings.Join(lines, "\n"), t.Separator, 0)
}

// separatorOf finds the separator: the one by which the header names all that is
// needed, else the one by which the lines are alike.
func separatorOf(body string, comments map[int]string, need []string) rune {
	if len(need) > 0 {
		heads := []string{body}
		for _, c := range comments {
			heads = append(heads, bare(c))
		}
		for _, s := range append(separators[:len(separators):len(separators)], Blanks) {
			for _, head := range heads {
				if r, _ := divide(head, s, 1); len(r) > 0 && hasAll(r[0].cells, need) {
					return s
				}
			}
		}
	}
	return findSeparator(body)
}

// arrange takes the header off and makes the rows equally long.
func (t *Table) arrange(records []record, opt Options) error {
	width := 0
	for _, r := range records {
		width = max(width, filled(r.cells))
	}
	first := records[0]
	named := opt.Header == WithHeader || opt.Header == Auto && (len(opt.Need) > 0 || isHeader(records))
	if named {
		if t.rowNames(records, width) {
			first.cells = append([]string{""}, first.cells...)
		}
		records = records[1:]
		t.HeaderLine, t.Names = first.line, make([]string, filled(first.cells))
		copy(t.Names, first.cells)
		width = len(t.Names)
		for _, r := range records { // empty names at the end stay where there are cells below
			width = max(width, min(filled(r.cells), len(first.cells)))
		}
		t.Names = append(t.Names, make([]string, width-len(t.Names))...)
	} else {
		width = min(width, max(filled(first.cells), len(first.cells)))
	}
	for _, r := range records {
		cells := r.cells
		if filled(cells) > width || len(cells) < width {
			return t.unequal(r, filled(cells) > width, first, width)
		}
		t.Rows, t.Lines = append(t.Rows, cells[:width:width]), append(t.Lines, r.line)
	}
	return nil
}

func (t *Table) unequal(r record, longer bool, first record, width int) error {
	n := len(r.cells)
	if longer {
		n = filled(r.cells)
	}
	hint := ""
	switch {
	case t.Separator == Blanks:
		hint = "; the cells are separated by blanks: put one that holds a blank in quotation marks, or separate the cells by commas"
	case longer:
		hint = fmt.Sprintf("; put a cell that holds a %s in quotation marks", separatorName(t.Separator))
	}
	return fmt.Errorf("line %d has %s, the first has %d%s", r.line, plural.Of(n, "cell"), width, hint)
}

func separatorName(s rune) string {
	switch s {
	case ',':
		return "comma"
	case ';':
		return "semicolon"
	case '\t':
		return "tab"
	}
	return fmt.Sprintf("%q", s)
}

// rowNames reports whether the rows have one cell more than the header, which is
// how R writes their names: numbers from 1 on, or words of which none comes back.
func (t *Table) rowNames(records []record, width int) bool {
	rows := records[1:]
	if len(records[0].cells) != width-1 || len(rows) < 2 {
		return false
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		if len(r.cells) < width {
			return false
		}
		names[i] = r.cells[0]
	}
	return Counts(names) || distinct(names) && !slices.ContainsFunc(names, isNumber)
}

// Counts reports whether cells number the rows: 0, 1, 2, ... or 1, 2, 3, ...
func Counts(cells []string) bool {
	start, ok := Number(cells[0])
	if !ok || start != 0 && start != 1 {
		return false
	}
	for i, c := range cells {
		if v, ok := Number(c); !ok || v != start+float64(i) {
			return false
		}
	}
	return len(cells) > 1
}

func distinct(cells []string) bool {
	seen := make(map[string]bool, len(cells))
	for _, c := range cells {
		if seen[c] {
			return false
		}
		seen[c] = true
	}
	return true
}

// labelName is a name that tells a header from a row.
var labelName = regexp.MustCompile(`(?i)^(label|class|target)$`)

// isHeader reports whether the first record names columns: it has no number, or
// stands as a word above numbers or as nothing above the numbers of the rows, or calls a column a label, or its numbers count
// the columns from 0 as pandas does.
func isHeader(records []record) bool {
	head := records[0].cells
	if !slices.ContainsFunc(head, isNumber) {
		return true
	}
	rows := records[1:min(len(records), 1+sampleRecords)]
	if len(rows) == 0 {
		return false
	}
	counted := 0
	for j, name := range head {
		numbers, words, again := 0, 0, false
		if name == "" && Counts(column(rows, j)) {
			return true
		}
		for _, r := range rows {
			if j >= len(r.cells) {
				continue
			}
			switch cell := r.cells[j]; {
			case isNumber(cell):
				numbers++
			case !IsGap(cell):
				words++
			}
			again = again || r.cells[j] == name
		}
		switch {
		case KindOf(name) == Word && (numbers > 0 && words == 0 || labelName.MatchString(name) && !again):
			return true
		case name == fmt.Sprint(counted):
			counted++
		}
	}
	return counted > 3 && counted >= len(head)-2
}

// column lists the cells of a column.
func column(records []record, j int) []string {
	cells := make([]string, len(records))
	for i, r := range records {
		if j < len(r.cells) {
			cells[i] = r.cells[j]
		}
	}
	return cells
}
