package table

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Kind is what a cell holds.
type Kind uint8

// The kinds of cells.
const (
	Gap       Kind = iota // no value
	Whole                 // 12, -3, 1e6: a number in every notation
	Point                 // 1.5, with a decimal point
	Comma                 // 1,5, with a decimal comma
	Either                // 1,234, which a decimal comma or a comma between thousands makes
	Infinite              // inf, or a number beyond the range
	Vanishing             // 1e-400: not 0, but nearer to it than any number of 64 bits
	Grouped               // 1,234,567 or 1.234,5 or 1 234: thousands are set apart
	Percent               // 45%
	Money                 // $5
	Date                  // 2024-01-31, 31.12.2024, 12:30
	Word                  // anything else
)

// String names a kind that is refused where numbers are wanted.
func (k Kind) String() string {
	return [...]string{"no value", "a whole number", "a number with a decimal point", "a number with a decimal comma", "a number with a comma between thousands, or a decimal comma",
		"not finite", "nearer to 0 than any number of 64 bits", "a number with marks between thousands", "a number with a percent sign", "an amount of money", "a date or a time", "a word"}[k]
}

// Numeric reports whether Number can read a cell of the kind, with a decimal mark
// that suits it.
func (k Kind) Numeric() bool { return k >= Whole && k <= Either }

// Odd reports whether a cell of the kind means a number in a notation that is not
// read.
func (k Kind) Odd() bool { return k >= Infinite && k <= Date }

// IsGap reports whether a cell means "no value": it is empty, or one of the words
// that programs write for it.
func IsGap(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "?", "na", "nan", "n/a", "null", "-", "#n/a", "<na>", "-nan", "+nan", "1.#qnan", "-1.#ind", "nan(ind)", "-nan(ind)":
		return true
	}
	return false
}

var (
	wholeCell   = regexp.MustCompile(`^[+-]?\d+([eEdD][+-]?\d+)?$`)
	pointCell   = regexp.MustCompile(`^[+-]?(\d+\.\d*|\.\d+)([eEdD][+-]?\d+)?$`)
	commaCell   = regexp.MustCompile(`^[+-]?(\d+,\d*|,\d+)([eEdD][+-]?\d+)?$`)
	eitherCell  = regexp.MustCompile(`^[+-]?[1-9]\d{0,2},\d{3}$`)
	groupedCell = regexp.MustCompile(`^[+-]?\d{1,3}(([,. '’_\x{a0}\x{2009}\x{202f}]\d{3})+|([, '’_\x{a0}\x{2009}\x{202f}]\d{3})+\.\d*|([. '’_\x{a0}\x{2009}\x{202f}]\d{3})+,\d*)$`)
	indianCell  = regexp.MustCompile(`^[+-]?\d{1,2}(,\d{2})+,\d{3}(\.\d*)?$`)
	percentCell = regexp.MustCompile(`^[+-]?[\d.,]*\d[.,]?\s*[%‰]$`)
	moneyCell   = regexp.MustCompile(`^([+-]?[$€£¥₹]\s*[+-]?[\d.,' ]*\d|[+-]?[\d.,' ]*\d\s*[$€£¥₹])$`)
	// digitsBeforeExponent matches a number whose digits are not all 0.
	digitsBeforeExponent = regexp.MustCompile(`^[^eEdD]*[1-9]`)
	dateCell             = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2}[- ][A-Za-z]{3,9}[- ](\d{4}|\d{2}))?([T ]?\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?(Z| ?[+-]\d{2}:?\d{2})?)?$`)
)

// KindOf says what a cell holds.
func KindOf(cell string) Kind {
	if kind, ok := quick(cell); ok {
		return kind
	}
	if IsGap(cell) {
		return Gap
	}
	if !strings.ContainsAny(cell, "0123456789") {
		switch strings.ToLower(strings.TrimLeft(cell, "+-")) {
		case "inf", "infinity", "∞":
			return Infinite
		}
		return Word
	}
	cell = plain(cell)
	kind := Word
	switch {
	case wholeCell.MatchString(cell):
		kind = Whole
	case pointCell.MatchString(cell):
		kind = Point
	case eitherCell.MatchString(cell):
		kind = Either
	case commaCell.MatchString(cell):
		kind = Comma
	case groupedCell.MatchString(cell), indianCell.MatchString(cell):
		return Grouped
	case percentCell.MatchString(cell):
		return Percent
	case moneyCell.MatchString(cell):
		return Money
	case dateCell.MatchString(cell):
		return Date
	case strings.HasPrefix(cell, "1.#INF"), strings.HasPrefix(cell, "-1.#INF"):
		return Infinite
	}
	if kind.Numeric() {
		switch v, err := strconv.ParseFloat(notation(cell), 64); {
		case err != nil || math.IsInf(v, 0):
			return Infinite
		case v == 0 && digitsBeforeExponent.MatchString(cell):
			return Vanishing
		}
	}
	return kind
}

// quick knows plain numbers, of which most tables consist.
func quick(cell string) (Kind, bool) {
	digits, points := 0, 0
	for i := range len(cell) {
		switch c := cell[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			points++
		case i > 0 || c != '-' && c != '+':
			return Word, false
		}
	}
	const certain = 300 // digits never make an infinity
	if digits == 0 || digits > certain || points > 1 {
		return Word, false
	}
	return Whole + Kind(points), true
}

// Number reads a cell of a kind that is Numeric. In one of kind Either the comma
// is a decimal one.
func Number(cell string) (float64, bool) {
	if _, ok := quick(cell); ok {
		v, err := strconv.ParseFloat(cell, 64)
		return v, err == nil
	}
	if !KindOf(cell).Numeric() {
		return 0, false
	}
	v, err := strconv.ParseFloat(notation(plain(cell)), 64)
	return v, err == nil
}

// plain replaces the minus sign of typography.
func plain(cell string) string { return strings.ReplaceAll(cell, "\u2212", "-") }

// notation is that of Go: a point, and E where Fortran has D.
func notation(cell string) string {
	return strings.NewReplacer(",", ".", "d", "e", "D", "E").Replace(cell)
}
