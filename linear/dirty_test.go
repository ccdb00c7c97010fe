package linear

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDecimalCommas(t *testing.T) {
	for what, text := range map[string]string{
		"semicolons":             "a;b;label\n1,5;2;x\n-0,25;1,234;y\n",
		"tabs":                   "a\tb\tlabel\n1,5\t2\tx\n-0,25\t1,234\ty\n",
		"quoted, between commas": "a,b,label\n\"1,5\",2,x\n\"-0,25\",\"1,234\",y\n",
		"no header":              "1,5;2;x\n-0,25;1,234;y\n",
		"blanks":                 "a b label\n1,5 2 x\n-0,25 1,234 y\n",
		"sep=":                   "sep=;\na;b;label\n1,5;2;x\n-0,25;1,234;y\n",
	} {
		tab := read(t, text, ReadOptions{})
		if len(tab.Columns) != 2 || !slices.Equal(tab.Columns[0].Numbers, []float64{1.5, -.25}) || !slices.Equal(tab.Columns[1].Numbers, []float64{2, 1.234}) {
			t.Errorf("%s: %+v", what, tab.Columns)
		}
		if !slices.Contains(tab.Notes, "numbers are read with decimal commas") {
			t.Errorf("%s: notes %q", what, tab.Notes)
		}
	}
	ambiguous := "a;label\n1,234;x\n5,678;y\n"
	if tab := read(t, ambiguous, ReadOptions{Decimal: ','}); tab.Columns[0].Numbers[1] != 5.678 {
		t.Errorf("by comma: %+v", tab.Columns)
	}
	if tab := read(t, "a;label\n1.234;x\n5.678;y\n", ReadOptions{}); tab.Columns[0].Numbers[1] != 5.678 || tab.Notes != nil {
		t.Errorf("points between semicolons: %+v", tab)
	}
}

func TestNumbersInOtherNotationsAreRefused(t *testing.T) {
	column := func(cells ...string) string {
		return "a;b;label\n1;" + strings.Join(cells, ";x\n2;") + ";y\n"
	}
	for want, c := range map[string]struct {
		text string
		opt  ReadOptions
	}{
		`line 2, column "b": "0,5" has a decimal comma, and line 3, column "b": "1.5" a decimal point`:    {column("0,5", "1.5"), ReadOptions{}},
		`line 2, column "b": "1,234" may be a number with a decimal comma, or have its comma between`:     {column("1,234", "2,345"), ReadOptions{}},
		`line 2, column "b": "1,234" has a comma between thousands`:                                       {column("1,234", "5.5"), ReadOptions{}},
		`line 3, column "b": "1,234,567" is a number with marks between thousands`:                        {column("5", "1,234,567"), ReadOptions{}},
		`line 2, column "b": "1.234,5" is a number with marks between thousands`:                          {column("1.234,5", "2.345,5"), ReadOptions{}},
		`line 2, column "b": "45%" is a number with a percent sign, which is not read: write numbers wit`: {column("45%", "5%"), ReadOptions{}},
		`line 2, column "b": "$5" is an amount of money`:                                                  {column("$5", "$6"), ReadOptions{}},
		`line 2, column "b": "2024-01-31" is a date or a time`:                                            {column("2024-01-31", "2024-02-01"), ReadOptions{}},
		`line 3, column "b": "31.12.2024" is a date or a time`:                                            {column("?", "31.12.2024"), ReadOptions{}},
		`line 3, column "b": "n/m" is no number, as 2 other cells of the column are`:                      {column("5", "n/m", "6"), ReadOptions{}},
		`line 3, column "b": "-inf" is not finite: numbers must be finite`:                                {column("5", "-inf", "6"), ReadOptions{}},
		`line 2, column "b": "0,5" has a decimal comma, but the decimal mark is the point`:                {column("0,5", "1"), ReadOptions{Decimal: '.'}},
		`line 2, column "b": "0.5" has a decimal point, but the decimal mark is the comma`:                {column("0.5", "1"), ReadOptions{Decimal: ','}},
	} {
		if _, err := ReadTable(strings.NewReader(c.text), "t", c.opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", c.text, err, want)
		}
	}
	dates := column("2024-01-31", "2024-02-01")
	if tab := read(t, dates, ReadOptions{Categorical: []string{"b"}}); tab.Columns[1].Words[1] != "2024-02-01" {
		t.Errorf("dates as codes: %+v", tab.Columns)
	}
	if tab := read(t, dates, ReadOptions{Drop: []string{"b"}}); len(tab.Columns) != 1 {
		t.Errorf("dates left out: %+v", tab.Columns)
	}
	if tab := read(t, column("10-20", "2nd", "5 kg"), ReadOptions{}); tab.Columns[1].Words == nil {
		t.Errorf("words with digits: %+v", tab.Columns)
	}
	if tab := read(t, column("None", "5", "."), ReadOptions{}); fmt.Sprint(tab.Columns[1].Numbers) != "[NaN 5 NaN]" {
		t.Errorf("words for no value: %+v", tab.Columns)
	}
}

func TestColumnsThatNumberTheRowsWithoutAName(t *testing.T) {
	for what, text := range map[string]string{
		"pandas":                     ",a,label\n0,5,x\n1,6,y\n2,5,x\n",
		"pandas, read and written":   "Unnamed: 0,a,label\n0,5,x\n1,6,y\n2,5,x\n",
		"pandas, rows in disorder":   ",a,label\n17,5,x\n4,6,y\n9,5,x\n",
		"pandas, numbers for names":  ",0,label\n0,5,x\n1,6,y\n2,5,x\n",
		"names of rows":              ",a,label\nr1,5,x\nr2,6,y\nr3,5,x\n",
		"R, row.names":               "\"\",\"a\",\"label\"\n\"1\",5,\"x\"\n\"2\",6,\"y\"\n\"3\",5,\"x\"\n",
		"R, a header one cell short": "\"a\" \"label\"\n\"1\" 5 \"x\"\n\"2\" 6 \"y\"\n\"3\" 5 \"x\"\n",
	} {
		tab := read(t, text, ReadOptions{})
		if len(tab.Columns) != 1 || !slices.Equal(tab.Columns[0].Numbers, []float64{5, 6, 5}) || !slices.Equal(tab.Labels, []int{0, 1, 0}) {
			t.Errorf("%s: %+v", what, tab.Columns)
		}
		if len(tab.Notes) != 1 || !strings.HasPrefix(tab.Notes[0], "column 1 of the file has no name and ") {
			t.Errorf("%s: notes %q", what, tab.Notes)
		}
	}
	tab := read(t, ",a,label\n3,5,x\n3,6,y\n4,5,x\n", ReadOptions{})
	if len(tab.Columns) != 2 || tab.Columns[0].Name != "c1" {
		t.Errorf("a column of values without name: %+v", tab.Columns)
	}
}

func TestColumnsThatAreNoFeatures(t *testing.T) {
	var words strings.Builder
	words.WriteString("word,label\n")
	for i := range 30 {
		fmt.Fprintf(&words, "w%d,%s\n", i, []string{"x", "y"}[i%2])
	}
	for what, c := range map[string]struct{ text, want string }{
		"numbers of rows":   {"id,a,label\n1,5,x\n2,6,y\n3,5.5,x\n4,1,y\n", `column "id" numbers the rows`},
		"the label, coded":  {"k,a,label\n7,5,x\n9,6,y\n7,5.5,x\n9,1,y\n", `column "k" has one value of its own for each class`},
		"the label, twice":  {"k,a,label\nX,5,x\nY,6,y\nX,5.5,x\nY,1,y\n", `column "k" has one value of its own for each class`},
		"words of each row": {words.String(), `column "word" holds 30 different words in 30 rows`},
		"codes":             {"zip,a,label\n01067,5,x\n80331,6,y\n01067,5.5,y\n", `line 2, column "zip": "01067" has a leading zero`},
	} {
		if got := read(t, c.text, ReadOptions{}).Suspects(); len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
	if got := read(t, "a,b,label\n1,2,x\n3,4,y\n0,5,x\n", ReadOptions{}).Suspects(); got != nil {
		t.Errorf("features: %q", got)
	}
}

func TestTablesOfForeignPrograms(t *testing.T) {
	for what, text := range map[string]string{
		"ARFF":           "@relation r\n@attribute a numeric\n@attribute 'the code' {1,2}\n@attribute class {x,y}\n@data\n1.5,1,x\n?,2,y\n",
		"blanks":         "a \"the code\" class\n1.5 k1 x\n? k2 y\n",
		"numpy.savetxt":  "# a,the code,class\n1.5,k1,x\nnan,k2,y\n",
		"UTF-16":         "\xff\xfea\x00;\x00t\x00h\x00e\x00 \x00c\x00o\x00d\x00e\x00;\x00c\x00l\x00a\x00s\x00s\x00\n\x001\x00.\x005\x00;\x00k\x001\x00;\x00x\x00\n\x00;\x00k\x002\x00;\x00y\x00\n\x00",
		"a spreadsheet":  "a,the code,class,,\n1.5,k1,x,,\n,k2,y,,\n,,,,\n",
		"after comments": "% one\n% two, and three\na,the code,class\n1.5,k1,x\n# between\n?,k2,y\n",
	} {
		tab := read(t, text, ReadOptions{})
		if fmt.Sprint(tab.Columns[0].Numbers) != "[1.5 NaN]" || tab.Columns[1].Name != "the code" || len(tab.Columns[1].Words) != 2 || len(tab.Columns) != 2 || !slices.Equal(tab.Classes, []string{"x", "y"}) {
			t.Errorf("%s: %+v", what, tab)
		}
	}
}

func FuzzReadTable(f *testing.F) {
	for _, s := range []string{"a,b,label\n1,2,x\n3,4,y\n", "a;b;label\n1,5;2;x\n3;,5;y\n", ",a,label\n0,5,x\n1,6,y\n", "@relation r\n@attribute a real\n@attribute class {x,y}\n@data\n1,x\n?,y\n", "1 2 x\n3 4 y\n", "a,label\n2024-01-01,x\n45%,y\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			t.Skip()
		}
		tab, err := parse(b, "t", ReadOptions{})
		if err != nil {
			return
		}
		tab.Suspects()
		for _, c := range tab.Columns {
			if len(c.Numbers) != tab.Rows() && len(c.Words) != tab.Rows() {
				t.Fatalf("column %q has %d numbers and %d words, there are %d rows", c.Name, len(c.Numbers), len(c.Words), tab.Rows())
			}
		}
		for _, y := range tab.Labels {
			if y < Unknown || y >= len(tab.Classes) {
				t.Fatalf("label %d of %d", y, len(tab.Classes))
			}
		}
	})
}
