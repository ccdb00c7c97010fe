package nametext

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

func TestEncode(t *testing.T) {
	for name, want := range map[string]string{
		"":                "",
		"ant":             "ant",
		"Ameise größer":   "Ameise größer",
		"a\\b":            "a\\b", // valid, and nothing to mistake
		"C:\\xena":        "C:\\xena",
		"caf\xe9":         `caf\xE9`,
		"caf\xe9\\b":      `caf\xE9\\b`,
		`caf\xE9`:         `caf\\xE9`,
		`caf\xe9`:         `caf\xe9`, // small digits are never written
		`\x1F`:            `\x1F`,    // ASCII is never written
		"line\nbreak":     "line\nbreak",
		"日本\xff":          `日本\xFF`,
		"\ufffd":          "\ufffd",
		"\xed\xa0\x80":    `\xED\xA0\x80`, // half of a pair is no character
		`\\xE9`:           `\\\\xE9`,
		"trailing\xe9\\":  `trailing\xE9\\`,
		"\\\xe9":          `\\\xE9`,
		"\xf0\x9f\x90cat": `\xF0\x9F\x90cat`,
	} {
		if got := Encode(name); got != want {
			t.Errorf("Encode(%q) = %s, want %s", name, got, want)
		}
		if got := Decode(Encode(name)); got != name {
			t.Errorf("Decode(Encode(%q)) = %q", name, got)
		}
		if got := IsEncoded(Encode(name)); got != (want != name) {
			t.Errorf("IsEncoded(%s) is %v", want, got)
		}
	}
}

// Random bytes, with many of those that the rule is about.
func TestRoundTripOfRandomBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	for range 200_000 {
		b := make([]byte, rng.IntN(9))
		for i := range b {
			if rng.IntN(2) == 0 {
				b[i] = `\xEA0\8e`[rng.IntN(8)]
			} else {
				b[i] = byte(rng.IntN(256))
			}
		}
		name := string(b)
		text := Encode(name)
		if !utf8.ValidString(text) || Decode(text) != name {
			t.Fatalf("%q becomes %q and comes back as %q", name, text, Decode(text))
		}
		if other, ok := seen[text]; ok && other != name {
			t.Fatalf("%q and %q both become %q", name, other, text)
		}
		seen[text] = name
	}
}

func TestShow(t *testing.T) {
	for name, want := range map[string]string{
		"ant":                "ant",
		"two\nlines\r\tand":  `two\nlines\r\tand`,
		"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"a\u2066b\u2069":     `a\u2066b\u2069`,
		"\u200bno width":     `\u200bno width`,
		"\u009b31m":          `\u009b31m`,
		"\x07\x00\x7f":       `\x07\x00\x7f`,
		"caf\xe9":            `caf\xE9`,
		"日本 한국 مرحبا 👩\u200d🔬 ❤\ufe0f": "日本 한국 مرحبا 👩\u200d🔬 ❤\ufe0f",
		"\U000e0041":      `\U000e0041`,
		"line\u2028break": `line\u2028break`,
		`back\slash`:      `back\slash`,
	} {
		if got := Show(name); got != want {
			t.Errorf("Show(%q) = %q, want %q", name, got, want)
		}
	}
	if got := Lines("a\n\tb\x1b[2J\r"); got != "a\n\tb\\x1b[2J\\r" {
		t.Errorf("Lines: %q", got)
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add("caf\xe9\\")
	f.Add(`\\xE9\xE9`)
	f.Fuzz(func(t *testing.T, name string) {
		text := Encode(name)
		if !utf8.ValidString(text) || Decode(text) != name {
			t.Fatalf("%q becomes %q and comes back as %q", name, text, Decode(text))
		}
		for _, r := range Show(name) {
			if r < ' ' || r == '\x7f' {
				t.Fatalf("Show(%q) holds %q", name, r)
			}
		}
	})
}

func TestFewShowsTheFirstNamesAndTheirNumber(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a", "b\nc"}, `a, b\nc`},
		{[]string{"1", "2", "3", "4", "5"}, "1, 2, 3, 4, 5"},
		{[]string{"1", "2", "3", "4", "5", "6"}, "1, 2, 3, 4, 5, ... (6)"},
	} {
		if got := Few(c.names); got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}
