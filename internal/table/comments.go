package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// separatorLine matches a first line "sep=;", which names the separator for spreadsheets.
var separatorLine = regexp.MustCompile(`(?i)^"?sep=(.)"?[;,\t]*$`)

// isComment reports whether a line looks like a comment: it begins with # or %.
func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%")
}

// plainComment reports whether a line that isComment can be nothing else: its mark
// stands alone or twice, or a blank follows it.
func plainComment(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) == 1 || strings.ContainsRune("#% \t!", rune(line[1]))
}

// preamble takes the comments before the first row off lines, which it replaces by
// empty ones, and returns them by their index.
func preamble(lines []string) map[int]string {
	comments := map[int]string{}
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case isComment(line):
			comments[i], lines[i] = line, ""
		default:
			return comments
		}
	}
	return comments
}

// restore puts what of the comments before the first row belongs to the table back:
// the header, as numpy.savetxt writes it, and rows whose first cell begins with a mark.
func restore(lines []string, comments map[int]string, first record, separator rune, need []string) {
	for i := range first.line {
		comment, ok := comments[i]
		if !ok {
			continue
		}
		if cells, err := divide(comment, separator, 1); len(need) == 0 && !plainComment(comment) && err == nil && filled(cells[0].cells) == filled(first.cells) {
			lines[i] = comment
		} else if isHeaderComment(comment, first, separator, need) {
			lines[i] = bare(comment)
			for k := range i { // there is one header
				lines[k] = ""
			}
		}
	}
}

// bare takes the mark off a comment.
func bare(comment string) string { return strings.TrimLeft(comment, "#% \t") }

// isHeaderComment reports whether a comment names the columns of the table.
func isHeaderComment(comment string, first record, separator rune, need []string) bool {
	names, err := divide(bare(comment), separator, 1)
	if err != nil || len(names) == 0 {
		return false
	}
	if len(need) > 0 {
		return hasAll(names[0].cells, need) && !hasAll(first.cells, need)
	}
	return filled(names[0].cells) == filled(first.cells) && !slices.ContainsFunc(names[0].cells, isNumber) && slices.ContainsFunc(first.cells, isNumber)
}

// hasAll reports whether the cells of a header name all columns that are needed.
func hasAll(cells, need []string) bool {
	for _, n := range need {
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.EqualFold(c, n) }) {
			return false
		}
	}
	return true
}

// dropComments replaces the comments between rows by empty lines. A line that has
// width cells is a row even if it begins with # or %, unless a blank follows the mark.
func dropComments(lines []string, separator rune, width int) (dropped int) {
	quoted := false
	for i, line := range lines {
		if !quoted && isComment(line) {
			cells, err := divide(line, separator, 1)
			if plainComment(line) || err != nil || len(cells) == 0 || len(cells[0].cells) != width {
				lines[i] = ""
				dropped++
				continue
			}
		}
		if separator != Blanks && strings.Count(line, `"`)&1 == 1 {
			quoted = !quoted
		}
	}
	return dropped
}

func isNumber(cell string) bool { return KindOf(cell).Numeric() || KindOf(cell) == Infinite }

func commentNote(n int) string {
	if n == 1 {
		return "one line that begins with # or % is left out as a comment"
	}
	return fmt.Sprintf("%d lines that begin with # or %% are left out as comments", n)
}
