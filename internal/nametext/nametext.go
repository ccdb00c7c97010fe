// Package nametext says how names that came from outside, of files and of classes,
// become text: Encode for everything that is written and read again, Show for people.
//
// Names of files are bytes, and those of old archives are often not UTF-8, which
// JSON, Parquet, safetensors and HTML must be. In a name that is not, each byte that
// does not belong to a character becomes \xNN, with two capital hexadecimal digits,
// and a backslash becomes two. All other names stay as they are, unless they hold
// what looks like such a byte: then their backslashes become two as well, so that
// Decode(Encode(name)) is the name, whatever its bytes are.
package nametext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const digits = "0123456789ABCDEF"

// writeByte writes c as \xNN.
func writeByte(b *strings.Builder, c byte) {
	b.WriteString(`\x`)
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// Encode returns name as valid UTF-8.
func Encode(name string) string {
	if utf8.ValidString(name) && !hasByte(name) {
		return name
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			writeByte(&b, rest[0])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

// Valid is Encode for what is only to be read: a name that is UTF-8 stays as it is.
func Valid(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return Encode(name)
}

// Decode returns the name that Encode made text of. Text that Encode did not make
// comes back as it is, but for what looks like its work.
func Decode(text string) string {
	if !hasByte(text) {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch v, ok := byteAt(text[i:]); {
		case ok:
			b = append(b, v)
			i += len(`\xNN`) - 1
		case strings.HasPrefix(text[i:], `\\`):
			b = append(b, '\\')
			i++
		default:
			b = append(b, text[i])
		}
	}
	return string(b)
}

// IsEncoded reports whether text stands for other bytes than its own.
func IsEncoded(text string) bool { return Decode(text) != text }

// hasByte reports whether there is \xNN anywhere in s.
func hasByte(s string) bool {
	for at := 0; ; at++ {
		next := strings.Index(s[at:], `\x`)
		if next < 0 {
			return false
		}
		at += next
		if _, ok := byteAt(s[at:]); ok {
			return true
		}
	}
}

// byteAt reads \xNN, N a capital hexadecimal digit and the byte no ASCII, from the
// start of s.
func byteAt(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' || s[1] != 'x' {
		return 0, false
	}
	high, low := strings.IndexByte(digits, s[2]), strings.IndexByte(digits, s[3])
	return byte(high<<4 | low), high >= 8 && low >= 0
}

// Show returns a name for people, on one line: bytes that are not UTF-8 as Encode
// has them, and characters that move the cursor, change colors, break lines, turn
// the direction of text or cannot be seen as \n, \x1b or \u202e.
func Show(name string) string { return escape(name, "") }

// Lines is Show for text of several lines, which holds names: line breaks and tabs
// stay.
func Lines(text string) string { return escape(text, "\n\t") }

// Few shows the first five of several names, and how many there are if there are more.
func Few(names []string) string {
	const max = 5
	shown := make([]string, 0, max)
	for _, n := range names[:min(max, len(names))] {
		shown = append(shown, Show(n))
	}
	text := strings.Join(shown, ", ")
	if len(names) > max {
		text += fmt.Sprintf(", ... (%d)", len(names))
	}
	return text
}

func escape(s, keep string) string {
	if !needsEscape(s, keep) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			writeByte(&b, rest[0])
		case hidden(r) && !strings.ContainsRune(keep, r):
			b.WriteString(escaped(r))
		default:
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

func needsEscape(s, keep string) bool {
	for i, r := range s {
		if hidden(r) && !strings.ContainsRune(keep, r) {
			return true
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return true
			}
		}
	}
	return false
}

// Joiners and selectors are part of emoji and of words in several scripts.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// hidden reports whether a character is not seen but does something: controls,
// format characters with those that turn the direction of text, separators of lines
// and paragraphs.
func hidden(r rune) bool {
	if r == nonJoiner || r == joiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escaped(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	const lower = "0123456789abcdef"
	text, places := `\x`, 8
	switch {
	case r > 0xffff:
		text, places = `\U`, 32
	case r > 0x7f:
		text, places = `\u`, 16
	}
	for places > 0 {
		places -= 4
		text += string(lower[r>>places&15])
	}
	return text
}
