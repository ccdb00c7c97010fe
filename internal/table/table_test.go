package table

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/vernier-ml/vernier/internal/unpack"
)

func utf16Bytes(text string, big bool) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

// cellsOf writes a table on one line.
func cellsOf(t *Table) string {
	rows := []string{strings.Join(t.Names, "|")}
	for i, r := range t.Rows {
		rows = append(rows, fmt.Sprintf("%d:%s", t.Lines[i], strings.Join(r, "|")))
	}
	return strings.Join(rows, " / ")
}

func TestTablesAsProgramsWriteThem(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"commas":                     {"a,b\n1,x\n2,y\n", "a|b / 2:1|x / 3:2|y"},
		"line ends of Windows":       {"a,b\r\n1,x\r\n2,y\r\n", "a|b / 2:1|x / 3:2|y"},
		"line ends of old Macs":      {"a,b\r1,x\r2,y\r", "a|b / 2:1|x / 3:2|y"},
		"UTF-8 with mark":            {"\ufeffa,b\n1,ü\n", "a|b / 2:1|ü"},
		"UTF-16, little":             {string(utf16Bytes("\ufeffa\tb\n1\tü\n", false)), "a|b / 2:1|ü"},
		"UTF-16, big":                {string(utf16Bytes("\ufeffa,b\n1,ü\n", true)), "a|b / 2:1|ü"},
		"UTF-16, little, no mark":    {string(utf16Bytes("a,b\n1,ü\n", false)), "a|b / 2:1|ü"},
		"UTF-16, big, no mark":       {string(utf16Bytes("a,b\n1,ü\n", true)), "a|b / 2:1|ü"},
		"Latin-1":                    {"a,b\n1,\xfc\n2,\x80\n", "a|b / 2:1|ü / 3:2|€"},
		"semicolons, decimal commas": {"a;b;c\n1,5;2,5;x\n3;4,5;y\n", "a|b|c / 2:1,5|2,5|x / 3:3|4,5|y"},
		"the same without header":    {"1,5;2,5;x\n3,0;4,5;y\n", " / 1:1,5|2,5|x / 2:3,0|4,5|y"},
		"tabs, decimal commas":       {"a\tb\n1,5\tx\n2,5\ty\n", "a|b / 2:1,5|x / 3:2,5|y"},
		"bars":                       {"a|b\n1|x\n", "a|b / 2:1|x"},
		"commas, words with bars":    {"a,b\n1,x|y\n2,z\n", "a|b / 2:1|x|y / 3:2|z"},
		"a first line sep=":          {"sep=;\r\na;b\r\n1,5;x\r\n", "a|b / 3:1,5|x"},
		"sep= in quotation marks":    {"\"sep=,\"\na,b\n1,x\n", "a|b / 3:1|x"},
		"blanks":                     {"a b\n1 x\n2 y\n", "a|b / 2:1|x / 3:2|y"},
		"blanks to align":            {"   1.5    2   x\n  10.0   12   y\n", " / 1:1.5|2|x / 2:10.0|12|y"},
		"blanks and one tab":         {"18.0   8  70\t\"chevrolet chevelle\"\n15.0   8  71\t\"buick\"\n", " / 1:18.0|8|70|chevrolet chevelle / 2:15.0|8|71|buick"},
		"tabs, words with blanks":    {"name\tkind\nnew york\tcity here\nlos angeles\tcity\n", "name|kind / 2:new york|city here / 3:los angeles|city"},
		"numpy's header":             {"# a b\n1 2\n3 4\n", "a|b / 2:1|2 / 3:3|4"},
		"comments":                   {"# by me, on Monday\n%\n\na,b\n1,x\n# done, really\n2,y\n", "a|b / 5:1|x / 7:2|y"},
		"a column called #":          {"#,b\n1,x\n2,y\n", "#|b / 2:1|x / 3:2|y"},
		"a row that begins with #":   {"a,b\nx,1\n#y,2\n", "a|b / 2:x|1 / 3:#y|2"},
		"a comment with a quote":     {"a,b\n# 5\" wide\n1,x\n", "a|b / 3:1|x"},
		"# in a quoted cell":         {"a,b\n\"1\n# no comment\",x\n", "a|b / 2:1\n# no comment|x"},
		"empty columns at the end":   {"a,b,,\n1,x,,\n2,y,,\n", "a|b / 2:1|x / 3:2|y"},
		"of the rows alone":          {"a,b\n1,x,\n2,y,,\n", "a|b / 2:1|x / 3:2|y"},
		"of the header alone":        {"a,b,,\n1,x\n", "a|b / 2:1|x"},
		"empty lines at the end":     {"a,b\n1,x\n,\n , \n\n\n", "a|b / 2:1|x"},
		"blanks around cells":        {" a , b\n 1\t, \"x\" \n\u00a02,y\n", "a|b / 2:1|x / 3:2|y"},
		"a name left out":            {",b\n5,x\n", "|b / 2:5|x"},
		"R's names of rows":          {"\"a\",\"b\"\n\"1\",5,\"x\"\n\"2\",7,\"y\"\n", "|a|b / 2:1|5|x / 3:2|7|y"},
		"R's names, by blanks":       {"\"a\" \"b\"\n\"r one\" 5 \"x\"\n\"r two\" 7 \"y\"\n", "|a|b / 2:r one|5|x / 3:r two|7|y"},
		"numbers for names":          {",0,1\n0,5,x\n1,7,y\n", "|0|1 / 2:0|5|x / 3:1|7|y"},
		"numbers and a label":        {"0,1,label\n5,6,x\n7,8,y\n", "0|1|label / 2:5|6|x / 3:7|8|y"},
		"many numbers for names":     {"0,1,2,3,4\n5,6,5,6,x\n7,8,7,8,y\n", "0|1|2|3|4 / 2:5|6|5|6|x / 3:7|8|7|8|y"},
		"no header":                  {"1,2,x\n3,4,y\n", " / 1:1|2|x / 2:3|4|y"},
		"a line end in a cell":       {"a,b\n\"1\n2\",x\n3,y\n", "a|b / 2:1\n2|x / 4:3|y"},
		"ARFF":                       {"% c\n@RELATION r\n@ATTRIBUTE 'a b' NUMERIC\n@attribute c {x, 'y z' , 'it\\'s' } % kinds\n@DATA\n% d\n1,x\n2, 'y z'\n?,\"it\\'s\"\n", "a b|c / 7:1|x / 8:2|y z / 9:?|it's"},
	} {
		got, err := Read([]byte(c.text), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if cellsOf(got) != c.want {
			t.Errorf("%s: %q, want %q", name, cellsOf(got), c.want)
		}
	}
}

func TestNeededColumnsTellTheSeparatorAndTheHeader(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"capitals":          {"Path;LABEL\na,b.png;1\n", "Path|LABEL / 2:a,b.png|1"},
		"blanks in a path":  {"path,label\na b.png,1\n", "path|label / 2:a b.png|1"},
		"blanks":            {"path label\n\"a b.png\" 1\n", "path|label / 2:a b.png|1"},
		"as a comment":      {"# path,label\na.png,1\n", "path|label / 2:a.png|1"},
		"numbers as labels": {"path,label,7\n1,2,3\n", "path|label|7 / 2:1|2|3"},
	} {
		got, err := Read([]byte(c.text), Options{Need: []string{"path", "label"}})
		if err != nil || cellsOf(got) != c.want {
			t.Errorf("%s: %v, want %q (%v)", name, got, c.want, err)
		}
	}
}

func TestTextsThatAreNoTables(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"workbook":                {"PK\x03\x04...", "save the sheet as CSV"},
		"web page":                {"\n<!DOCTYPE html><p>", "a web page"},
		"Git LFS":                 {"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "a Git LFS pointer, which stands for the table: fetch the table with git lfs pull"},
		"git-annex":               {"/annex/objects/SHA256E-s9--1.csv\n", "a git-annex pointer"},
		"bytes of zero":           {"a,b\n1,\x00\n", "bytes of zero"},
		"comments alone":          {"# a\n# b\n", "all lines begin with # or %"},
		"short row":               {"a,b,c\n1,2,x\n3,y\n4,5,z\n", "line 3 has 2 cells, the first has 3"},
		"long row":                {"a,b,c\n1,2,x\n3,y,4,5\n4,5,z\n", "line 3 has 4 cells, the first has 3; put a cell that holds a comma in quotation marks"},
		"a blank in a cell":       {"a b c\n1 2 x\n3 4 new york\n5 6 z\n", "line 3 has 4 cells, the first has 3; the cells are separated by blanks"},
		"open quotation":          {"a,b\n\"1,x\n2,y\n", "line 2: the quotation mark that opens a cell is not closed"},
		"quotation inside":        {"a,b\n5\" wide,x\n", "line 2: a quotation mark inside a cell"},
		"ARFF, sparse":            {"@relation r\n@attribute a numeric\n@data\n{0 1}\n", "line 4: a sparse row"},
		"ARFF, another type":      {"@relation r\n@attribute a complex\n@data\n1\n", `line 2: attribute "a" has type "complex"`},
		"ARFF, a foreign value":   {"@relation r\n@attribute a {ant, 'red bee', Wasp}\n@attribute b real\n@data\n'red bee',1\n?,1\nants,2\n", `line 7: column "a": "ants" is none of the values that the file declares for it: ant, red bee, Wasp; did you mean ant?`},
		"ARFF, capitals":          {"@relation r\n@attribute a {ant,Wasp}\n@data\nWASP\n", `line 4: column "a": "WASP" is none of the values that the file declares for it: ant, Wasp`},
		"ARFF, numbers as values": {"@relation r\n@attribute a {0,1}\n@data\n2\n", `"2" is none of the values that the file declares for it: 0, 1`},
		"ARFF, open braces":       {"@relation r\n@attribute a {0,1\n@data\n2\n", `line 2: attribute "a": the list of its values, {0,1, has no closing brace`},
		"ARFF, a value twice":     {"@relation r\n@attribute a {x,y,x}\n@data\nx\n", `has "x" twice`},
		"ARFF, short row":         {"@relation r\n@attribute a real\n@attribute b real\n@data\n1\n", "line 5: 1 cells, there are 2 attributes"},
	} {
		if _, err := Read([]byte(c.text), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read([]byte("\n\n"), Options{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty lines: %v", err)
	}
}

func TestNotesSayWhatIsNotPlain(t *testing.T) {
	got, err := Read([]byte("a,b\n1,\xfc\n# no row\n"), Options{})
	if err != nil || len(got.Notes) != 2 || !strings.Contains(got.Notes[0], "Windows-1252") || !strings.Contains(got.Notes[1], "one line that begins with # or %") {
		t.Errorf("%+v (%v)", got, err)
	}
}

func TestKindsOfCells(t *testing.T) {
	for kind, cells := range map[Kind][]string{
		Gap:       {"", "?", "NA", "NaN", "n/a", "NULL", "-", "#N/A", "<NA>", "-nan(ind)"},
		Whole:     {"0", "0e-400", "-0e5", "-12", "+7", "1e6", "1E+06", "2D3", "−5", "007"},
		Point:     {"1.5", "0.00e-999", "5.0e-324", "1.0e-300", ".5", "5.", "-1.5e-3", "1.5D+03", "1234.5", "1.234"},
		Comma:     {"1,5", "0,123", ",5", "1234,567", "-1,25e3", "12,3456"},
		Either:    {"1,234", "-12,345", "999,000"},
		Infinite:  {"inf", "-Infinity", "∞", "1e999", "-1.#INF", strings.Repeat("9", 400)},
		Vanishing: {"1e-400", "-2.5E-999", "0,1e-400", "1" + "e-99999"},
		Grouped:   {"1,234,567", "1.234.567", "1,234.5", "1.234,5", "1 234", "1_000", "1'234'567.8", "12,34,567", "1\u202f234", "1\u00a0234,5"},
		Percent:   {"45%", "4.5 %", "1,5%"},
		Money:     {"$5", "€ 1,234.50", "12 €"},
		Date:      {"2024-01-31", "31.12.2024", "1/2/24", "2024-01-31T10:00:00Z", "12:30", "12:30:05.5", "31-Jan-2024", "2024/1/2 3:04 pm"},
		Word:      {"x", "5 kg", "10-20", "1st", "0x1p4", "infinite", "e5", "1,2,3", "12:3", "a1"},
	} {
		for _, c := range cells {
			if got := KindOf(c); got != kind {
				t.Errorf("%q is %v, want %v", c, got, kind)
			}
		}
	}
	for cell, want := range map[string]float64{"1.5": 1.5, "1,5": 1.5, "-2": -2, "−2": -2, "1.5D+03": 1500, "1,234": 1.234, "1e3": 1000, "007": 7} {
		if got, ok := Number(cell); !ok || got != want {
			t.Errorf("%q is %v, want %v", cell, got, want)
		}
	}
	if _, ok := Number("45%"); ok {
		t.Error("a percentage is a number")
	}
}

func TestPathsOfWindows(t *testing.T) {
	there := []string{`odd\name.png`, "img/ant/00.png"}
	exists := func(p string) bool { return slices.Contains(there, p) }
	for cell, want := range map[string]string{
		`odd\name.png`:           `odd\name.png`, // a backslash is a letter elsewhere
		`img\ant\00.png`:         "img/ant/00.png",
		`img/ant\00.png`:         "img/ant/00.png",
		`.\img\\ant/00.png`:      "img/ant/00.png",
		`C:\me\img\a.png`:        "C:/me/img/a.png",
		`\\server\share\img\a`:   "//server/share/img/a",
		"./img/../img/a.png":     "img/a.png",
		"//srv/share/with/slash": "/srv/share/with/slash",
	} {
		if got := Path(cell, exists); got != want {
			t.Errorf("%s became %s, want %s", cell, got, want)
		}
	}
	if !IsWindows("C:/me/a") || !IsWindows("//server/share/a") || IsWindows("/home/me/a") || IsWindows("c/a") {
		t.Error("what is of Windows")
	}
}

func TestCompressedFilesAndTooLargeOnes(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte("a,b\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.csv") // whatever it is called
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(file); err != nil || string(got) != "a,b\n" {
		t.Errorf("%q (%v)", got, err)
	}
	if err := os.WriteFile(file, append(b.Bytes(), "text"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); !errors.Is(err, unpack.ErrSurplus) {
		t.Errorf("with a text behind: %v", err)
	}
	bz2, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWdswl0oAAAjRgAAQAAUyxUQAIAAxA0DQKBtMp+qMcuqR2EEky+fF3JFOFCQ2zCXSgA==") // of Python's bz2
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bz2, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(file); err != nil || string(got) != "path,label\na.png,ant\n" {
		t.Errorf("bzip2: %q (%v)", got, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a,b\n1,x\n", "sep=;\na;b\n1,5;x\n", "# a b\n1 2\n", "@relation r\n@attribute a numeric\n@data\n1\n", "\"a\" \"b\"\n\"1\" 2 3\n\"2\" 2 3\n", "\xff\xfea\x00,\x00b\x00", "#\n%,\n#a,b\n"} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, need bool) {
		if len(b) > 1<<16 {
			t.Skip()
		}
		opt := Options{}
		if need {
			opt.Need = []string{"a", "b"}
		}
		got, err := Read(b, opt)
		if err != nil {
			return
		}
		for i, r := range got.Rows {
			if len(r) != len(got.Rows[0]) || got.Names != nil && len(r) != len(got.Names) || got.Lines[i] < 1 {
				t.Fatalf("row %d: %q of line %d, names %q", i, r, got.Lines[i], got.Names)
			}
			for _, c := range r {
				if v, ok := Number(c); ok != KindOf(c).Numeric() {
					t.Fatalf("%q is %v, and %v", c, KindOf(c), v)
				}
			}
		}
	})
}
