package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGzipReadsWhatGzipWouldUnpack(t *testing.T) {
	a, b := packed(t, "abc"), packed(t, strings.Repeat("def", 50000))
	both := "abc" + strings.Repeat("def", 50000)
	for name, c := range map[string]struct {
		file, want string
		surplus    bool
		err        error
	}{
		"one member":                     {a, "abc", false, nil},
		"two members":                    {a + b, both, false, nil},
		"an empty member":                {a + packed(t, "") + b, both, false, nil},
		"zeros behind":                   {a + strings.Repeat("\x00", 70000), "abc", false, nil},
		"zeros between":                  {a + "\x00\x00" + b, both, false, nil},
		"text behind":                    {a + "text", "abc", true, nil},
		"text behind zeros":              {a + "\x00\x00text", "abc", true, nil},
		"one byte behind":                {a + "\x1f", "abc", true, nil},
		"cut":                            {a[:len(a)-5], "abc", false, io.ErrUnexpectedEOF},
		"the second is cut":              {a + b[:len(b)-3], both, false, io.ErrUnexpectedEOF},
		"the second has no whole header": {a + b[:5], "abc", false, io.ErrUnexpectedEOF},
		"another checksum":               {a[:len(a)-8] + "xxxx" + a[len(a)-4:], "abc", false, gzip.ErrChecksum},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.file), iotest.OneByteReader(strings.NewReader(c.file))} {
			g, err := NewGzip(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := io.ReadAll(g)
			if string(got) != c.want || !errors.Is(err, c.err) || g.Surplus() != c.surplus {
				t.Errorf("%s: %d bytes, surplus %v, %v", name, len(got), g.Surplus(), err)
			}
		}
	}
	g, err := NewGzip(strings.NewReader(a + "text"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.ReadAll(100); !errors.Is(err, ErrSurplus) {
		t.Errorf("%v", err)
	}
	if _, err := NewGzip(strings.NewReader("text that is not compressed")); !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("%v", err)
	}
}
