package gallery

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
)

func TestMalformedCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csv")
	for text, says := range map[string]string{
		"":                                  "the file is empty",
		"\n\n":                              "the file is empty",
		"path,class\na,b\n":                 "no column e0",
		"e0,e1\n1,2\n3,four\n":              `line 3: e1 is "four", want a number`,
		"e0,e1\n1,2\n3,NaN\n":               `line 3: e1 is "NaN", want a finite number`,
		"e0\n-inf\n":                        `line 2: e0 is "-inf", want a finite number`,
		"e0\n1e39\n":                        `line 2: e0 is "1e39", want a finite number`,
		"e0\n\"\"\n":                        `line 2: e0 is "", want a number`,
		"e0\n0x1p4\n":                       `line 2: e0 is "0x1p4", want a number`,
		"e0\n1e-300\n":                      `line 2: e0 is "1e-300", which is too small for a number of 32 bits`,
		"label,e0\nx,1\n":                   `line 2: label is "x"`,
		"e0,e1\n1\n":                        "line 2: it has another number of columns than the header",
		"e0,e1\n1,2\n\n1,2,3\n":             "line 4: it has another number of columns than the header",
		"e0,e1\n":                           "0 rows",
		"\"e0":                              "line 1: a quote without its counterpart, at line 1",
		"path,e0\n\"a,1\n":                  "line 2: a quote without its counterpart",
		"path,e0\nb,1\n\"a\nb\nc,1\n":       "line 3: a quote without its counterpart",
		"path,e0\na\"b,1\n":                 "line 2: a quote within a text that does not begin with one, at byte 2",
		"path,e0\n\"a\"b,1\n":               "line 2: a quote without its counterpart",
		"path,e0\n\"a\nb\",1\n\"c\nd\",x\n": `line 4: e0 is "x"`,
		"e0,e1,e0\n1,2,3\n":                 "two columns are called e0",
		"path,e0,Path \na,1,b\n":            "two columns are called path",
		"e0,e1,e3\n1,2,3\n":                 "there is a column e3, but none is called e2",
		"e1,e2\n1,2\n":                      "no column e0",
		"1,2,3\n4,5,6\n":                    "put a line e0,e1,...,e2 above it",
		"1e-3, -2\n4,5\n":                   "put a line e0,e1 above it",
		"a.png,0.5\nb.png,1\n":              "put a line path,e0 above it",
		"a.png,ant,0.5,1,2\nb,c,1,2,3\n":    "put a line path,class,e0,e1,...,e2 above it",
		"path;e0;e1\na;1,5;2\n":             `separated by ";"`,
		"path\te0\te1\na\t1\t2\n":           `separated by "\t"`,
		"sep=,\ne0\n1\n":                    "begins with a line sep=",
		"\xff\xfee\x000\x00\n\x00":          "UTF-16",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestCSVOfOthers(t *testing.T) {
	for text, want := range map[string]*Table{
		"\ufeffe1,Name,E0\r\n2,\"a, b\",1\r\n-4,c,+3e0\r\n": {Embeddings: newRows(2, 1, 2, 3, -4)},
		"embedding,e0,e\nx, 1 ,y\n":                         {Embeddings: newRows(1, 1)},
		"e00,e0\n7,1\n":                                     {Embeddings: newRows(1, 1)},
	} {
		got, err := parseCSV(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func newRows(n int, x ...float32) *eval.Embeddings {
	return &eval.Embeddings{X: x, N: n, H: len(x) / n}
}

// FuzzCSV reads what the fuzzer made, and what it says is written and read again.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{
		"path,class,label,e0,e1\na.png,\"rook, \"\"black\"\"\",3,1,-2.5e-3\n", "e0\n\"1", "\ufeffe1,e0\r\n1,2\r\n", "path,e0\n\"a\nb\",1\n", "e0,e1\n1\n", "a;e0\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var x *Table
		var err error
		bounded(t, len(b), func() { x, err = parseCSV(bytes.NewReader(b)) })
		if err != nil || x.complete() != nil {
			return
		}
		var out bytes.Buffer
		fatal(t, WriteCSV(&out, x))
		y, err := parseCSV(&out)
		if err != nil || !reflect.DeepEqual(x.X, y.X) || !reflect.DeepEqual(x.Labels, y.Labels) && x.Classes == nil {
			t.Fatalf("%q became %q: %v", b, out.String(), err)
		}
	})
}
