package eval

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestPairsOfSpreadsheets(t *testing.T) {
	for name, text := range map[string]string{
		"semicolons, columns left over": "sep=;\r\nA;B;same;;\r\nx/1.png; x/2.png ;1;;\r\nx/1.png;y/1.png;0;;\r\n;;;;\r\n",
		"UTF-16":                        "\xff\xfe" + strings.Join(strings.Split("a\tb\tsame\nx/1.png\tx/2.png\t1\nx/1.png\ty/1.png\t0\n", ""), "\x00") + "\x00",
		"comments":                      "# a b same\nx/1.png x/2.png same\n# now others\nx/1.png y/1.png different\n",
	} {
		l, err := ReadPairs(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(l.Paths, []string{"x/1.png", "x/2.png", "y/1.png"}) || !slices.Equal(l.Pairs, []Pair{{0, 1, true}, {0, 2, false}}) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func FuzzReadPairs(f *testing.F) {
	f.Add([]byte("a,b,same\nx,y,1\nx,z,0\n"))
	f.Add([]byte("a;b;same;identity_a;identity_b\nx;y;true;1;1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			t.Skip()
		}
		l, err := ReadPairs(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, p := range l.Pairs {
			if p.A == p.B || p.A >= len(l.Paths) || p.B >= len(l.Paths) || p.Same && l.Identity[p.A] != l.Identity[p.B] {
				t.Fatalf("pair %+v of %q", p, l.Paths)
			}
		}
	})
}
